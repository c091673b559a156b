"""Words of the household: what can be named in a command. Plain data, and a maker of names nobody has heard of."""

ROOMS = (
    "kitchen", "living room", "bedroom", "bathroom", "hallway", "office", "garage", "garden", "dining room",
    "basement", "attic", "nursery", "guest room", "laundry room", "kids room", "study", "porch", "balcony",
)
RARE_ROOMS = (
    "conservatory", "pantry", "workshop", "sauna", "gym", "library", "music room", "playroom", "cellar", "loft",
    "driveway", "terrace", "patio", "greenhouse", "shed", "entrance", "stairs", "landing", "corridor", "den",
    "master bedroom", "upstairs bathroom", "game room", "wine cellar", "utility room", "reading corner", "closet",
    "front yard", "backyard", "pool", "studio", "lounge", "toilet", "shower", "lobby", "desk", "bed", "table",
    "christmas tree", "fish tank", "ceiling", "counter", "sofa", "mirror", "wardrobe", "fireplace", "veranda",
    "boiler room", "spare room", "media room", "cloakroom", "barn", "pergola", "carport", "mudroom", "sunroom",
)
DEVICES = (
    "fan", "heater", "tv", "television", "coffee machine", "dishwasher", "washing machine", "dryer", "oven", "radio",
    "kettle", "air conditioning", "air purifier", "humidifier", "dehumidifier", "sprinkler", "water pump", "printer",
    "projector", "speaker", "towel warmer", "electric blanket", "computer", "game console", "charger", "plug",
    "fountain", "toaster", "stereo", "ceiling fan", "water heater", "alarm system", "robot mower", "camera",
    "coffee maker", "router", "doorbell", "boiler", "freezer", "aquarium pump", "monitor",
)
COVERS = ("blinds", "curtains", "shutters", "shades")
DOORS = (
    "front door", "back door", "garage door", "garden gate", "patio door", "cellar door", "side door",
    "balcony door", "main door", "gate", "kitchen door", "office door", "basement door", "terrace door",
)
GENRES = (
    "jazz", "rock", "pop", "classical music", "blues", "country music", "folk", "techno", "piano music", "soul",
    "hip hop", "reggae", "opera", "dance music", "christmas songs", "children songs", "ambient music", "metal",
    "disco", "funk", "the radio", "the news channel", "some mozart", "the beatles", "guitar music", "indie music",
)
COLOURS = (
    "red", "green", "blue", "yellow", "purple", "orange", "pink", "white", "warm white", "cool white", "turquoise",
    "violet",
)
SCENES = ("movie", "dinner", "reading", "party", "relax", "morning", "night", "evening", "romantic", "work", "gaming")
ITEMS = (
    "milk", "eggs", "bread", "butter", "cheese", "apples", "bananas", "oranges", "tomatoes", "potatoes", "onions",
    "garlic", "rice", "pasta", "flour", "sugar", "salt", "pepper", "coffee", "tea", "juice", "water", "wine", "beer",
    "chocolate", "cookies", "yogurt", "cream", "ham", "chicken", "fish", "beef", "sausages", "carrots", "lettuce",
    "cucumbers", "lemons", "grapes", "strawberries", "honey", "jam", "cereal", "oats", "beans", "lentils", "oil",
    "olive oil", "vinegar", "soap", "shampoo", "toothpaste", "toilet paper", "paper towels", "detergent", "batteries",
    "light bulbs", "dog food", "cat food", "candles", "napkins", "mushrooms", "spinach", "peanut butter", "ketchup",
    "mustard", "ice cream", "pizza", "tofu", "almonds", "raisins", "broccoli", "corn", "avocados", "ginger",
)
COUNTRIES = (
    "france", "germany", "spain", "italy", "japan", "brazil", "canada", "india", "china", "egypt", "kenya", "peru",
    "norway", "poland", "turkey", "mexico", "australia", "iceland", "greece", "portugal", "sweden", "chile",
)
PEOPLE = (
    "anna", "tom", "lisa", "peter", "maria", "john", "emma", "paul", "sarah", "max", "mom", "dad", "grandma", "david",
    "julia", "my wife", "my husband", "my boss", "my sister", "my brother", "the doctor", "the neighbour",
    "einstein", "shakespeare", "mozart", "napoleon", "cleopatra", "newton", "picasso", "beethoven", "the president",
)
THINGS = (
    "love", "war", "the moon", "the sea", "dogs", "cats", "a dragon", "time travel", "black holes", "cars", "trains",
    "history", "football", "money", "politics", "art", "computers", "python", "quantum physics", "evolution", "taxes",
    "dinosaurs", "the stock market", "a robot", "spring", "autumn", "friendship", "a sorting algorithm", "bitcoin",
    "gravity", "the internet", "philosophy", "a haiku", "the economy", "rome", "volcanoes", "tennis", "bicycles",
    "airplanes", "photosynthesis", "democracy", "poetry", "music theory", "chess", "the ocean", "mountains", "stars",
    "recursion", "linear algebra", "a bank", "insurance", "marriage", "religion", "climate change", "medicine",
)
LANGUAGES = ("french", "german", "spanish", "italian", "japanese", "latin", "russian", "chinese", "polish", "dutch")
COMMON_WORDS = (
    "the", "a", "of", "and", "to", "in", "is", "was", "he", "for", "it", "with", "as", "his", "on", "be", "at", "by",
    "had", "not", "are", "but", "from", "or", "have", "an", "they", "which", "one", "you", "were", "her", "every",
    "she", "there", "would", "their", "we", "him", "been", "has", "when", "who", "will", "more", "if", "out",
    "so", "said", "what", "up", "its", "about", "into", "than", "them", "can", "only", "other", "new", "some",
    "could", "time", "these", "two", "may", "then", "do", "first", "any", "my", "now", "such", "like", "our", "over",
    "man", "me", "even", "most", "made", "after", "also", "did", "many", "before", "must", "through", "back", "years",
    "where", "much", "your", "way", "well", "down", "should", "because", "each", "just", "those", "people", "thus",
    "too", "little", "state", "very", "make", "world", "still", "own", "see", "men", "work", "long", "get",
    "here", "between", "both", "life", "being", "under", "never", "day", "same", "another", "know", "while", "last",
    "might", "us", "old", "year", "off", "come", "since", "against", "go", "came", "right", "used", "take",
    "three", "door", "house", "water", "room", "city", "paper", "letter", "school", "number", "system", "question",
    "train", "boat", "tree", "river", "window", "street", "apple", "green", "blue",
)
FOREIGN = (
    "hola, que tal estas", "bonjour, comment ca va", "guten tag, wie geht es dir", "mach das licht an",
    "allume la lumière", "enciende la luz de la cocina", "accendi la luce", "zet het licht aan", "włącz światło",
    "включи свет на кухне", "привет", "打开厨房的灯", "電気をつけて", "안녕하세요", "مرحبا", "שלום", "γεια σου",
    "schalte die lampe im flur aus", "wie spät ist es", "qual è la capitale della francia", "où est la gare",
    "obrigado", "tack så mycket", "dziękuję", "köszönöm", "danke schön", "merci beaucoup", "gracias",
)
CODE = (
    "SELECT * FROM users WHERE id = 1;", "print('hello world')", "{\"a\": [1, 2, 3]}", "<html><body></body></html>",
    "int main() { return 0; }", "for i in range(10): pass", "rm -rf /", "../../etc/passwd", "0xDEADBEEF",
    "https://example.org/a?b=c", "#!/bin/sh", "a && b || c", "def f(x): return x + 1", "{{ user.name }}", "NULL",
    "%s%s%s%n", "\\x00\\x01", "[INST] hi [/INST]", "### Instruction:", "user@example.org", "undefined", "NaN",
    "import os", "console.log(1)", "std::vector<int> v;", "<script>alert(1)</script>", "' OR 1=1 --", "$(whoami)",
)
SYMBOLS = "!?.,;:-_+*/=#$%&()[]{}<>@^~|'\"\\`0123456789"
UNICODE_SYMBOLS = "äöüßéèçñøåłžčşğ€£✓★☂☃♥😀🎉🔥👍🤖🏠💡日本語中文한국русскийαβγδمرحبا\u00a0\u200b\ufeff"

ONSETS = ("b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pl", "qu", "r", "s",
          "sh", "st", "t", "tr", "v", "w", "z")
VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "oo", "ou", "y")
CODAS = ("", "", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "st", "x", "ng", "rd")


def invented_word(rng) -> str:
    """A pronounceable word of one to three syllables, such as "brooston"."""
    syllables = rng.choice((1, 2, 2, 2, 3))
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(syllables))


def a_room(rng) -> str:
    chance = rng.random()
    if chance < 0.68:
        return rng.choice(ROOMS)
    return rng.choice(RARE_ROOMS) if chance < 0.88 else invented_word(rng)


def an_item(rng) -> str:
    return rng.choice(ITEMS) if rng.random() < 0.85 else invented_word(rng)


def a_device(rng) -> str:
    return rng.choice(DEVICES) if rng.random() < 0.92 else invented_word(rng)


def a_duration(rng) -> str:
    """Such as "10 minutes", "1 hour", "2 hours and 30 minutes"."""
    number = lambda n, unit: f"{n} {unit}" + ("" if n == 1 else "s")
    kind = rng.random()
    if kind < 0.62:
        return number(rng.choice((rng.randint(1, 60), rng.randint(1, 12) * 5)), "minute")
    if kind < 0.74:
        return number(rng.randint(5, 90), "second")
    if kind < 0.90:
        return number(rng.randint(1, 12), "hour")
    return f"{number(rng.randint(1, 3), 'hour')} and {number(rng.randint(1, 11) * 5, 'minute')}"


def a_clock_time(rng) -> str:
    """Such as "7", "7:30", "6:45 am", "22:15"."""
    hour = rng.randint(1, 12)
    kind = rng.random()
    if kind < 0.3:
        return str(hour) + rng.choice(("", " am", " pm"))
    if kind < 0.8:
        return f"{hour}:{rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50, 55)):02d}" + rng.choice(("", "", " am", " pm"))
    return f"{rng.randint(0, 23)}:{rng.randint(0, 59):02d}"


def a_phrase(rng) -> str:
    """One to six words that need not belong together: common, household, invented, numbers."""
    draws = (lambda: rng.choice(COMMON_WORDS), lambda: invented_word(rng), lambda: a_room(rng), lambda: an_item(rng),
             lambda: rng.choice(DEVICES), lambda: str(rng.randint(0, 999)), lambda: rng.choice(COLOURS + GENRES))
    return " ".join(rng.choice(draws)() for _ in range(rng.randint(1, 6)))


# How a value is drawn for each slot that a wording may have.
SLOTS = {
    "room": a_room,
    "device": a_device,
    "item": an_item,
    "item2": an_item,
    "duration": a_duration,
    "clock": a_clock_time,
    "percent": lambda rng: str(rng.choice((rng.randint(1, 100), rng.randint(1, 10) * 10))),
    "degrees": lambda rng: str(rng.randint(10, 30)) + rng.choice(("",) * 5 + (".5",)),
    "count": lambda rng: str(rng.choice((rng.randint(2, 20), rng.randint(3, 60), 10, 50, 100))),
    "cover": lambda rng: rng.choice(COVERS[:1] * 3 + COVERS),
    "door": lambda rng: rng.choice(DOORS),
    "genre": lambda rng: rng.choice(GENRES),
    "colour": lambda rng: rng.choice(COLOURS),
    "scene": lambda rng: rng.choice(SCENES),
    "country": lambda rng: rng.choice(COUNTRIES),
    "person": lambda rng: rng.choice(PEOPLE),
    "thing": lambda rng: rng.choice(THINGS) if rng.random() < 0.6 else invented_word(rng),
    "word": lambda rng: rng.choice(COMMON_WORDS) if rng.random() < 0.5 else invented_word(rng),
    "language": lambda rng: rng.choice(LANGUAGES),
    "phrase": a_phrase,
    "n": lambda rng: str(rng.randint(0, 999)),
    "m": lambda rng: str(rng.randint(0, 99)),
}

# Words that mean the same wherever they stand in a wording; the answer always uses one of them.
SYNONYMS = {
    "lights": ("lights", "lights", "light", "lamp", "lamps"),
    "on": ("turn on", "switch on", "put on"),
    "off": ("turn off", "switch off", "put out"),
    "turn": ("turn", "turn", "switch", "put"),
    "set": ("set", "change", "put", "turn"),
    "them": ("them", "it"),
    "pct": (" percent", " percent", "%"),
    "deg": (" degrees", " degrees", " degrees celsius", "°", ""),
    "heating": ("heating", "thermostat", "temperature", "heat"),
    "bright": ("brighter", "a bit brighter", "a little brighter"),
    "dark": ("darker", "dimmer", "a bit darker", "a little dimmer", "less bright"),
    "vacuum": ("vacuum", "vacuum cleaner", "robot vacuum", "robot"),
    "list": ("shopping list", "list", "grocery list"),
    "music": ("music", "song", "sound"),
}

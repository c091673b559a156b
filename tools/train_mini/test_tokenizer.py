"""The tokenizer: what goes in comes out, pieces are those of the smollm rule, merges are learnt deterministically."""

import itertools
import random
import unittest

import grammar
from tokenizer import ALPHABET, SPECIALS, Tokenizer, learn_merges, pre_tokenise

TEXTS = [m["content"] for d in grammar.training_dialogues(3, 0, 200) for m in d.messages]


class PreTokenise(unittest.TestCase):
    def test_digits_stand_alone(self):
        self.assertEqual(pre_tokenise("set it to 21 degrees"), ["set", " it", " to", " ", "2", "1", " degrees"])

    def test_a_space_belongs_to_the_next_word(self):
        self.assertEqual(pre_tokenise("a  b\n"), ["a", " ", " b", "\n"])

    def test_contractions_are_pieces(self):
        self.assertEqual(pre_tokenise("it's what you're"), ["it", "'s", " what", " you", "'re"])

    def test_underscore_and_marks_are_symbols(self):
        self.assertEqual(pre_tokenise("light.hall_2"), ["light", ".", "hall", "_", "2"])

    def test_letters_and_numbers_of_other_scripts(self):
        self.assertEqual(pre_tokenise("свет 五½x"), ["свет", " 五", "½", "x"])

    def test_nothing_is_lost(self):
        for text in TEXTS + ["\u001c \u00a0\u3000x", "", " ", "a\r\n\r\nb"]:
            self.assertEqual("".join(pre_tokenise(text)), text)


class Bpe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokenizer = Tokenizer.train(TEXTS, 600)

    def test_alphabet_has_a_character_for_every_byte(self):
        self.assertEqual(len(set(ALPHABET)), 256)
        self.assertFalse(any(c.isspace() for c in ALPHABET))

    def test_round_trip_of_any_text(self):
        rng = random.Random(5)
        garbage = ["".join(chr(rng.randint(0, 0x2FFF)) for _ in range(30)) for _ in range(50)]
        for text in itertools.chain(TEXTS, garbage, ["😀 naïve ☂"]):
            self.assertEqual(self.tokenizer.decode(self.tokenizer.encode(text)), text)

    def test_learning_is_deterministic_and_order_free(self):
        self.assertEqual(learn_merges(TEXTS, 50), learn_merges(TEXTS[::-1], 50))

    def test_merges_shorten(self):
        text = "turn on the kitchen lights"
        self.assertLess(len(self.tokenizer.encode(text)), len(text) // 2)

    def test_control_tokens_are_last_and_only_in_messages(self):
        self.assertEqual(tuple(self.tokenizer.tokens[-3:]), SPECIALS)
        self.assertNotIn(self.tokenizer.im_end, self.tokenizer.encode("<|im_end|>"))

    def test_a_prompt_reads_as_chatml(self):
        ids = self.tokenizer.encode_prompt([{"role": "user", "content": "hi"}])
        self.assertEqual(self.tokenizer.decode(ids), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")


if __name__ == "__main__":
    unittest.main()

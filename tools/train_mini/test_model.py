"""The decoder: causal, the same with and without a cache, rotary positions relative; training data and masks."""

import unittest

import torch

import batches
import grammar
import trainer
from model import Config, Llama, greedy, rope_tables, rotate
from optimiser import orthogonalise
from tokenizer import Tokenizer

CONFIG = Config(vocab=50, embd=64, layers=2, heads=4, kv_heads=2, ff=96, context=64)


class Decoder(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.model = Llama(CONFIG).eval()
        self.ids = torch.randint(0, 50, (2, 12))

    @torch.no_grad()
    def test_later_tokens_do_not_change_earlier_states(self):
        whole, _ = self.model(self.ids)
        start, _ = self.model(self.ids[:, :7])
        torch.testing.assert_close(whole[:, :7], start)

    @torch.no_grad()
    def test_cache_continues(self):
        whole, _ = self.model(self.ids)
        _, caches = self.model(self.ids[:, :7])
        rest, _ = self.model(self.ids[:, 7:], caches)
        torch.testing.assert_close(whole[:, 7:], rest, atol=1e-5, rtol=1e-5)

    def test_greedy_stops_at_the_limit_and_at_the_stop_token(self):
        out = greedy(self.model, [1, 2, 3], stop=-1, limit=5)
        self.assertEqual(len(out), 5)
        self.assertEqual(greedy(self.model, [1, 2, 3], stop=out[0]), [])

    def test_rotation_depends_on_the_distance_only(self):
        cos, sin = rope_tables(32, 16, 10000.0)
        q, k = torch.randn(1, 1, 1, 16), torch.randn(1, 1, 1, 16)
        at = lambda x, p: rotate(x, cos[p : p + 1], sin[p : p + 1])
        score = lambda a, b: (at(q, a) * at(k, b)).sum()
        torch.testing.assert_close(score(9, 4), score(25, 20), atol=1e-4, rtol=1e-4)


class LookBack(unittest.TestCase):
    @torch.no_grad()
    def test_heads_start_on_the_tokens_before(self):
        torch.manual_seed(4)
        c = Config(vocab=300)
        model, length = Llama(c), 200
        x = model.blocks[0].attn_norm(model.embed(torch.randint(0, 300, (1, length))))
        attn = model.blocks[0].attn
        q = rotate(attn.split(attn.q(x), c.heads), model.cos[:length], model.sin[:length])[0]
        k = rotate(attn.split(attn.k(x), c.kv_heads), model.cos[:length], model.sin[:length])[0, 0]
        for head, distance in enumerate((1, 2, 3)):
            scores = (q[head, -1] @ k.t())
            self.assertEqual(int(scores.argmax()), length - 1 - distance)


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dialogues = grammar.training_dialogues(1, 0, 60)
        cls.tokenizer = Tokenizer.train((m["content"] for d in cls.dialogues for m in d.messages), 400)

    def test_the_mask_covers_the_answers_and_their_ends(self):
        for d in self.dialogues:
            s = batches.sample(self.tokenizer, d.messages)
            said = [self.tokenizer.decode(s.ids[a:b]) for a, b in batches.answer_spans(s.said)]
            wanted = [m["content"] + "<|im_end|>" for m in d.messages if m["role"] == "assistant"]
            self.assertEqual(said, wanted)

    def samples(self):
        return [batches.sample(self.tokenizer, d.messages) for d in self.dialogues]

    def test_steps_keep_order_and_budget(self):
        samples = self.samples()
        steps = batches.steps(samples, 1000)
        self.assertEqual([s for step in steps for s in step], samples)
        self.assertTrue(all(len(step) == 1 or sum(len(s.ids) for s in step) <= 1000 for step in steps))

    def test_groups_hold_every_sample_and_waste_little(self):
        samples = self.samples()
        groups = batches.group(samples)
        self.assertEqual(sum(map(len, groups)), len(samples))
        for g in groups:
            self.assertLessEqual(len(g[0].ids), 1.25 * len(g[-1].ids) + 24)

    def test_weights_follow_the_mask_and_long_answers_weigh_less(self):
        said = [False] + [True] * 16 + [False] + [True] * 64 + [False]
        weights = batches.answer_weights(said)
        self.assertEqual([w > 0 for w in weights], said)
        self.assertEqual((weights[1], weights[20]), (1.0, 0.5))

    def test_rate_rises_then_falls_to_zero(self):
        self.assertLess(trainer.rate_at(0.0), 0.1)
        self.assertEqual(trainer.rate_at(0.1), 1.0)
        after_warm_up = [trainer.rate_at(i / 200) for i in range(5, 201)]
        self.assertEqual(after_warm_up, sorted(after_warm_up, reverse=True))
        self.assertEqual(trainer.rate_at(1.0), 0.0)

    def test_an_update_is_near_orthogonal(self):
        singular = torch.linalg.svdvals(orthogonalise(torch.randn(24, 64)))
        self.assertTrue(((singular > 0.5) & (singular < 1.5)).all())

    def test_a_few_steps_lower_the_loss(self):
        torch.manual_seed(1)
        model = Llama(Config(vocab=len(self.tokenizer), embd=64, layers=1, heads=2, kv_heads=1, ff=96))
        optimiser = trainer.Optimiser(model)
        step = [batches.to_batch(g, self.tokenizer.end_of_text) for g in batches.group(self.samples()[:24])]
        losses = []
        for _ in range(12):
            losses.append(trainer.backward(model, step))
            optimiser.step(1.0)
        self.assertLess(losses[-1], 0.7 * losses[0])


if __name__ == "__main__":
    unittest.main()

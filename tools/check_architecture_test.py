"""Proves that check_architecture fails on what it is there to find. Run: python3 tools/check_architecture_test.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "check_architecture"
TABLE = """
| module | what it is | may include |
| --- | --- | --- |
| `base` | small things | |
| `domain` | words | base |
| `engine` | engines | domain |
| `keeper` | owner | engine |
| `daemon` | root | everything |
| `tier/` | preloaded | its own headers only |
"""


class CheckArchitecture(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write("docs/architecture.md", TABLE)
        self.write("src/base/text.h", "#pragma once\nint f();\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def judge(self):
        done = subprocess.run([sys.executable, SCRIPT, "--root", self.root], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr, done.stdout

    def assert_fails(self, message):
        status, errors, _ = self.judge()
        self.assertEqual(status, 1)
        self.assertIn(message, errors)

    def test_good_tree_passes(self):
        self.write("src/domain/a.h", '#include <vector>\n#include "base/text.h"\n#include "domain/b.h"\n')
        self.write("src/keeper/a.cpp", '#include "engine/a.h"\n#include "domain/a.h"\n#include "base/text.h"\n')
        self.write("src/keeper/a_test.cpp", '#include "tests/fake.h"\n')
        self.write("src/engine/tier.cpp", '#include "tier/protocol.h"\n')
        self.write("src/daemon/main.cpp", '#include "keeper/a.h"\nint main() { return 0; }\n')
        self.write("tier/arena.cpp", '#include "tier/protocol.h"\n#include "arena.h"\n')
        self.assertEqual(self.judge()[:2], (0, ""))

    def test_upward_include_fails(self):
        self.write("src/base/bad.cpp", '#include "domain/a.h"\n')
        self.assert_fails('src/base/bad.cpp: includes "domain/a.h": base may not include domain')

    def test_sideways_include_fails(self):
        self.write("src/engine/bad.h", '#include "keeper/a.h"\n')
        self.assert_fails("engine may not include keeper")

    def test_nobody_includes_the_root(self):
        self.write("src/keeper/bad.h", '#include "daemon/a.h"\n')
        self.assert_fails("keeper may not include daemon")

    def test_test_support_in_the_product_fails(self):
        self.write("src/keeper/bad.cpp", '#include "tests/fake.h"\n')
        self.assert_fails("tests/ is for test files only")

    def test_tier_stands_alone(self):
        self.write("tier/bad.cpp", '#include "base/text.h"\n')
        self.assert_fails("tier/ stands alone")
        self.write("src/domain/bad.h", '#include "tier/protocol.h"\n')
        self.assert_fails("domain does not speak the tier's protocol")

    def test_unknown_module_fails(self):
        self.write("src/misc/a.h", "\n")
        self.assert_fails("src/misc: no row")

    def test_a_table_with_a_cycle_fails(self):
        self.write("docs/architecture.md", TABLE.replace("| words | base |", "| words | keeper |"))
        self.assert_fails("include each other")

    def test_a_missing_table_fails(self):
        self.write("docs/architecture.md", "nothing\n")
        self.assert_fails("no table")

    def test_long_file_fails(self):
        self.write("src/base/long.cpp", "\n" * 801)
        self.assert_fails("src/base/long.cpp: 801 lines")

    def test_long_function_fails(self):
        self.write("src/base/long.cpp", "namespace x {\n\nint f(int a) {\n" + "  a++;\n" * 79 + "}\n}\n")
        self.assert_fails("src/base/long.cpp:3: f has 81 lines")

    def test_longest_allowed_function_passes(self):
        self.write("src/base/long.cpp", "namespace x {\nclass C {\nint f(int a) {\n" + "  a++;\n" * 78 + "}\n};\n}\n")
        status, _, output = self.judge()
        self.assertEqual(status, 0)
        self.assertIn("80  src/base/long.cpp: f", output)

    def test_measures_past_strings_comments_and_initializers(self):
        text = 'struct S {\n  S() : a_{1}, b_{"{"} {\n    // }\n    c(\'}\', R"x(}}})x");\n  }\n  int a_ = 10\'000;\n};\n'
        text += "DECLARE_THINGS(x)\n\nnamespace n {\n}\n"
        text += "auto g() -> std::vector<int> {\n  if (x) {\n  }\n  return {1};\n}\nint table[] = {f(1)};\n"
        self.write("src/base/a.cpp", text)
        status, _, output = self.judge()
        self.assertEqual(status, 0)
        self.assertIn("   4  src/base/a.cpp: S\n", output)
        self.assertIn("   5  src/base/a.cpp: g\n", output)
        self.assertIn("2 functions", output)


if __name__ == "__main__":
    unittest.main()

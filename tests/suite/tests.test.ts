import { expect, test } from "bun:test";
import { suiteTests } from "../../lab/suite/tests.ts";

test("each file is run by the suite or by --long", () => {
  const [suite, long] = [suiteTests(false), suiteTests(true)];
  const files = [...new Bun.Glob("tests/**/*.test.ts").scanSync(".")].map((file) => `./${file}`);
  expect([...suite, ...long].toSorted()).toEqual(files.toSorted());
  expect(long).toContain("./tests/lab/kills.test.ts");
  expect(suite).toContain("./tests/lab/leaks/leaks.test.ts");
});

import { expect, test } from "bun:test";
import { readlinkSync } from "node:fs";
import { Output } from "../../src/system/output.ts";
import { until } from "../rig/tools/until.ts";

/** The program waits where it reads a line, until `goOn`. */
async function printing(
  script: string,
  work: (output: Output, ended: Promise<number>, goOn: () => void) => Promise<void>,
): Promise<void> {
  using output = Output.open();
  const child = Bun.spawn(["sh", "-c", script], { stdin: "pipe", stdout: output.file });
  try {
    await work(output, child.exited, () => {
      child.stdin.write("\n");
      void child.stdin.end();
    });
  } finally {
    child.kill();
  }
}

test("what a program prints is read from the beginning, whenever it is looked at", () =>
  printing("echo eins; printf 'zw\\303'; printf '\\266lf'", async (output, ended) => {
    expect(output.has("drei")).toBe(false);
    await ended;
    expect(output.text()).toBe("eins\nzwölf");
    expect(output.text()).toBe("eins\nzwölf");
  }));

test("a text is found although it comes in two parts", () =>
  printing("printf 'a list }'; read -r line; printf ')'", async (output, ended, goOn) => {
    await until(() => output.text() === "a list }");
    expect(output.has("})")).toBe(false);
    goOn();
    await ended;
    expect(output.has("})")).toBe(true);
  }));

test("a closed one has nothing more, so that no other file is read in its place", async () => {
  const output = Output.open();
  output[Symbol.dispose]();
  expect([output.has("x"), output.text()]).toEqual([false, ""]);
});

test("it needs no room in a folder that others can fill", () =>
  printing("echo eins", async (output) => {
    expect(readlinkSync(`/proc/self/fd/${output.file}`)).toStartWith("/memfd:");
  }));

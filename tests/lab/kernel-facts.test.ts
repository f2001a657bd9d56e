import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { blocksIn, patternOf } from "../binary/page.ts";
import { long } from "../fast.ts";

const { test } = long("what Linux does, which no change of the gateway changes");

const PAGE = join(import.meta.dir, "../../docs/how-a-packet-cannot-leave.md");
/** 400 reloads of a table under a flood, on a busy machine. */
setDefaultTimeout(600_000);

const blocks = blocksIn(await Bun.file(PAGE).text());
const [opening, ...scripts] = blocks.filter(({ language }) => language === "bash").map(({ text }) => text);
const answers = blocks.filter(({ language }) => language === "").map(({ text }) => text);
const BETWEEN = "-- the next block --\n";

/** The numbers of packets in a text, and the text without them. */
function packetsIn(text: string): { packets: number[]; rest: string } {
  const packets = [...text.matchAll(/packets (\d+)/g)].map(([, count]) => Number(count));
  return { packets, rest: text.replaceAll(/packets \d+/g, "packets …") };
}

test("the blocks of the page, in one shell of namespaces, print what the page says", async () => {
  expect(opening).toBe("unshare --mount --net bash\n");
  expect([scripts.length, answers.length]).toEqual([5, 4]);
  const child = Bun.spawn((opening ?? "").trim().split(" "), {
    stdin: new TextEncoder().encode(scripts.join(`echo '${BETWEEN.trim()}'\n`)),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  // `ip` ends its lines with a space.
  const printed = stdout.replaceAll(/ +$/gm, "").split(BETWEEN);
  expect({ printed: printed.length, first: printed[0], stderr }).toEqual({
    printed: 5,
    first: "",
    stderr: expect.not.stringContaining("rror"),
  });
  for (const [index, answer] of answers.entries())
    expect(packetsIn(printed[index + 1] ?? "").rest).toMatch(patternOf(packetsIn(answer).rest));
  const [policy = [], sets = []] = printed.slice(1).map((text) => packetsIn(text).packets);
  // How many pass depends on the machine; that some do is the control for those that must not.
  expect({ late: (policy[0] ?? 0) > 0, withDrop: (policy[1] ?? 0) - (policy[0] ?? 0) }).toEqual({
    late: true,
    withDrop: 0,
  });
  expect({ hash: sets[0], intervals: (sets[1] ?? 0) > 0 }).toEqual({ hash: 0, intervals: true });
});

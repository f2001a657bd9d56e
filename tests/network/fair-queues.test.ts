import { afterEach, beforeEach, expect, test } from "bun:test";
import { FairQueues, LINE } from "../../src/network/fair-queues.ts";
import { FakeHost } from "../fake/host.ts";
import { newLink } from "../fake/link.ts";

const LAN = (bytes: number) => `bandwidth ${bytes}bps besteffort dual-dsthost`;
const TUNNEL = (bytes: number) => `bandwidth ${bytes}bps besteffort nat dual-srchost`;

let host: FakeHost;
let texts: Map<string, string>;
let warnings: string[];
let queues: FairQueues;
let ending: AbortController;
beforeEach(() => {
  ending = new AbortController();
  host = new FakeHost();
  host.patient = true;
  texts = new Map();
  warnings = [];
  queues = another();
  void queues.keep(ending.signal);
  queues.lanIs(["lan0"]);
});
afterEach(() => ending.abort());

/** Of another process with the same database. */
function another(): FairQueues {
  return new FairQueues({
    host,
    store: {
      read: (key) => texts.get(key) ?? null,
      write: (key, text) => void texts.set(key, text),
      atomically: (work) => work(),
    },
    log: { warn: (line) => void warnings.push(line) },
    isTunnel: (link) => link === "wg0",
  });
}

function addTunnel(): void {
  host.links.set("wg0", newLink({ up: true }));
  queues.tunnelsAre(["wg0"]);
}

const words = () => ["lan0", "up0", "wg0"].map((link) => host.tc.wordsOf(link));
const ranTc = () => host.commands.filter((command) => command.startsWith("tc "));
/** What could not be saved is tried again by then. */
const SAVED_WITHIN_MS = 20_000;
/** What was begun has ended by then. */
const settled = () => Bun.sleep(20);

test("without rates nothing is queued, and no program runs after the start", async () => {
  await settled();
  const atStart = ranTc();
  queues.lanIs(["lan0", "lan1"]);
  addTunnel();
  await settled();
  expect([queues.line, words(), await queues.missing()]).toEqual([null, ["", "", ""], null]);
  expect([atStart, ranTc()]).toEqual([["tc -j qdisc show"], ["tc -j qdisc show"]]);
});

test("a start without rates removes the queues that a killed service has left", async () => {
  await queues.set({ down: 100, up: 10 });
  texts.clear();
  void another().keep(ending.signal);
  await settled();
  expect(words()).toEqual(["", "", ""]);
});

test("however often the network changes meanwhile, one update waits", async () => {
  await queues.set({ down: 100, up: 10 });
  const ranBy = async (changes: number) => {
    const before = ranTc().length;
    for (let change = 0; change < changes; change += 1) queues.lanIs(["lan0"]);
    await settled();
    return ranTc().length - before;
  };
  expect(await ranBy(50)).toBe(await ranBy(1));
});

test("each device has its turn on the LAN and in each tunnel, also in one that comes later", async () => {
  await queues.set({ down: 100, up: 10 });
  expect(words()).toEqual([LAN(12_500_000), "", ""]);
  addTunnel();
  await settled();
  expect(words()).toEqual([LAN(12_500_000), "", TUNNEL(1_250_000)]);
  expect(await queues.missing()).toEqual({ of: ["lan0", "wg0"], missing: [] });
  await queues.set({ down: 50, up: 10 });
  expect(words()).toEqual([LAN(6_250_000), "", TUNNEL(1_250_000)]);
  await queues.set(null);
  expect([words(), texts.get(LINE.key)]).toEqual([["", "", ""], LINE.unset]);
});

test("a link that was made again gets its queue again", async () => {
  await queues.set({ down: 100, up: 10 });
  addTunnel();
  await settled();
  host.links.delete("wg0");
  queues.tunnelsAre([]);
  addTunnel();
  await settled();
  expect(host.tc.wordsOf("wg0")).toBe(TUNNEL(1_250_000));
});

test("the rates hold in the next process, which changes nothing before it keeps them", async () => {
  await queues.set({ down: 100, up: 10 });
  addTunnel();
  await settled();
  const next = another();
  next.lanIs(["lan0"]);
  await settled();
  expect(host.tc.wordsOf("wg0")).toBe(TUNNEL(1_250_000));
  void next.keep(ending.signal);
  await settled();
  // It may not know its tunnels yet.
  expect(words()).toEqual([LAN(12_500_000), "", TUNNEL(1_250_000)]);
});

test("a tunnel that is left keeps its queue, in which packets may wait", async () => {
  await queues.set({ down: 100, up: 10 });
  addTunnel();
  await settled();
  queues.tunnelsAre([]);
  await settled();
  expect(host.tc.wordsOf("wg0")).toBe(TUNNEL(1_250_000));
});

test("a LAN's interface that was made again under its name has its queue again", async () => {
  await queues.set({ down: 100, up: 10 });
  host.links.set("lan0", newLink({ up: true }));
  queues.lanIs(["lan0"]);
  await settled();
  expect(host.tc.wordsOf("lan0")).toBe(LAN(12_500_000));
});

test.each([{ down: 50, up: 5 }, null])(
  "a process that is killed while it sets %p leaves nothing that the next one does not settle",
  async (line) => {
    await queues.set({ down: 100, up: 10 });
    host.holds = (command) => (command === "tc -batch -" ? new Promise(() => {}) : null);
    void queues.set(line);
    await settled();
    host.holds = () => null;
    const next = another();
    next.lanIs(["lan0"]);
    void next.keep(ending.signal);
    await settled();
    expect([next.line, host.tc.wordsOf("lan0")]).toEqual([line, line === null ? "" : LAN(6_250_000)]);
  },
);

test("what a restore brings is taken up, and what it takes away ends", async () => {
  texts.set(LINE.key, "20 Mbit/s down, 2 up");
  queues.reload();
  await settled();
  expect(words()).toEqual([LAN(2_500_000), "", ""]);
  texts.set(LINE.key, LINE.unset);
  queues.reload();
  await settled();
  expect(words()).toEqual(["", "", ""]);
});

test("a queue of another program is not replaced, and what had been set still holds", async () => {
  await queues.set({ down: 100, up: 10 });
  host.links.set("lan1", newLink({ up: true }));
  host.tc.take("lan1", "htb", "1:");
  queues.lanIs(["lan0", "lan1"]);
  await settled();
  expect(warnings).toEqual([expect.stringContaining("lan1 has a queue of another program (htb 1:)")]);
  addTunnel();
  await settled();
  expect(host.tc.wordsOf("wg0")).toBe(TUNNEL(1_250_000));
  await expect(queues.set({ down: 50, up: 5 })).rejects.toThrow("tc qdisc delete dev lan1 root");
  expect([queues.line, host.tc.wordsOf("lan1")]).toEqual([{ down: 100, up: 10 }, "htb"]);
  expect(await queues.missing()).toEqual({ of: ["lan0", "lan1", "wg0"], missing: ["lan1"] });
});

test("what cannot be saved does not hold", async () => {
  await queues.set({ down: 100, up: 10 });
  texts.set = () => {
    throw new Error("the disk is full");
  };
  await expect(queues.set({ down: 50, up: 5 })).rejects.toThrow("the disk is full");
  expect([queues.line, words()]).toEqual([{ down: 100, up: 10 }, [LAN(12_500_000), "", ""]]);
});

test("what the kernel refuses while the disk is full is told so, and gone from the database once there is room", async () => {
  await queues.set({ down: 100, up: 10 });
  host.tc.take("lan0", "htb", "1:");
  const write = texts.set.bind(texts);
  let written = 0;
  texts.set = (key, text) => {
    if (written++ > 0) throw new Error("the disk is full");
    return write(key, text);
  };
  await expect(queues.set({ down: 50, up: 5 })).rejects.toThrow(
    "It is not in force, but the database still has it",
  );
  expect([queues.line, another().line]).toEqual([
    { down: 100, up: 10 },
    { down: 50, up: 5 },
  ]);
  texts.set = write;
  await host.pass(SAVED_WITHIN_MS);
  expect(another().line).toEqual({ down: 100, up: 10 });
});

test.each(["20 Mbit/s down, 0 up", "20000 Mbit/s down, 1 up", "020 Mbit/s down, 1 up", "fast"])(
  "%p in the database counts as not given",
  (text) => {
    texts.set(LINE.key, text);
    expect([another().line, LINE.isValid(text)]).toEqual([null, false]);
  },
);

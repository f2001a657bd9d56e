import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../../lab/until.ts";
import type { Address } from "../../src/base/address.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import type { SetChange } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { ip, ips } from "../fake/address.ts";
import { NamespaceHost } from "../namespace-host.ts";

const HERE = `as${process.pid}`;
const [here, machine] = [new NamespaceHost(HERE), new LinuxHost()];
const TABLE = `add table inet own
delete table inet own
table inet own {
  set named_ipv4 { type ipv4_addr; elements = { 0.0.0.0, 192.0.2.1 }; }
  set named_ipv6 { type ipv6_addr; elements = { :: }; }
}
`;
const FLUSH = "flush ruleset\n";
const PATIENCE_MS = 60_000;

const load = (text: string) => here.run(["nft", "-f", "-"], { stdin: text });
const change = (...changes: Omit<SetChange, "table">[]) =>
  here.changeAddresses(changes.map((each) => ({ table: "own", ...each })));
const added = (set: string, ...addresses: Address[]) => ({ verb: "add" as const, set, addresses });
const deleted = (set: string, ...addresses: Address[]) => ({ verb: "delete" as const, set, addresses });

async function elements(set: string): Promise<string[]> {
  const listing = await here.run(["nft", "list", "set", "inet", "own", set]);
  const [, listed = ""] = /elements = \{([^}]*)\}/.exec(listing) ?? [];
  return listed.split(",").map((each) => each.trim());
}

/** How long some work took, in milliseconds, and how often the event loop came round meanwhile. */
async function timed(work: () => Promise<unknown>): Promise<{ waited: number; turns: number }> {
  const since = performance.now();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await work();
  clearInterval(timer);
  return { waited: performance.now() - since, turns };
}

beforeAll(async () => {
  await machine.run(["ip", "netns", "add", HERE]);
});
afterAll(() => machine.run(["ip", "netns", "delete", HERE]));

test(
  "addresses of both families are there, and gone, when the change is done",
  async () => {
    await load(TABLE);
    await change(
      added("named_ipv4", ip("192.0.2.7"), ip("198.51.100.9")),
      added("named_ipv6", ip("2001:db8::7")),
    );
    expect(await elements("named_ipv4")).toEqual(["0.0.0.0", "192.0.2.1", "192.0.2.7", "198.51.100.9"]);
    expect(await elements("named_ipv6")).toEqual(["::", "2001:db8::7"]);
    await change(deleted("named_ipv4", ip("192.0.2.7")), added("named_ipv4", ip("192.0.2.8")));
    expect(await elements("named_ipv4")).toEqual(["0.0.0.0", "192.0.2.1", "192.0.2.8", "198.51.100.9"]);
    // What is there stays.
    await change(added("named_ipv4", ip("192.0.2.8")));
  },
  PATIENCE_MS,
);

test(
  "a change that the kernel refuses changes nothing, and the next one is as good as ever",
  async () => {
    await load(TABLE);
    const refused = [
      [added("named_ipv4", ip("192.0.2.7")), deleted("named_ipv4", ip("192.0.2.200"))],
      [added("named_ipv4", ip("192.0.2.7")), added("no_set", ip("192.0.2.8"))],
      [added("named_ipv4", ip("192.0.2.7")), added("named_ipv4", ip("2001:db8::7"))],
    ];
    for (const changes of refused) {
      await expect(change(...changes)).rejects.toMatchObject({ code: "kernel_refused" });
      expect(await elements("named_ipv4")).toEqual(["0.0.0.0", "192.0.2.1"]);
    }
    await load(FLUSH);
    await expect(change(added("named_ipv4", ip("192.0.2.7")))).rejects.toMatchObject({
      code: "kernel_refused",
    });
    await load(TABLE);
    await change(added("named_ipv4", ip("192.0.2.7")));
    expect(await elements("named_ipv4")).toContain("192.0.2.7");
  },
  PATIENCE_MS,
);

test(
  "more addresses than a message has room for change in one transaction",
  async () => {
    await load(TABLE);
    const many = Array.from({ length: 2_048 }, (_, number) => ip(`2001:db8::1:${(number + 1).toString(16)}`));
    await change(added("named_ipv6", ...many));
    expect((await elements("named_ipv6")).length).toBe(1 + many.length);
    await expect(
      change(deleted("named_ipv6", ...many), deleted("named_ipv4", ip("192.0.2.9"))),
    ).rejects.toMatchObject({ code: "kernel_refused" });
    expect((await elements("named_ipv6")).length).toBe(1 + many.length);
    await change(deleted("named_ipv6", ...many));
    expect(await elements("named_ipv6")).toEqual(["::"]);
  },
  PATIENCE_MS,
);

test(
  "while the table is flushed and comes back again and again, each change is done or refused",
  async () => {
    await load(TABLE);
    const flusher = Bun.spawn(
      commandIn(HERE, ["sh", "-c", `while :; do nft -f - <<'E'\n${TABLE}E\nnft flush ruleset; done`]),
      { stdout: "ignore", stderr: "ignore" },
    );
    const outcomes = { done: 0, refused: 0 };
    try {
      await until(async () => {
        const outcome = await change(added("named_ipv4", ...ips("192.0.2.7"))).then(
          () => "done" as const,
          () => "refused" as const,
        );
        outcomes[outcome] += 1;
        return outcomes.done > 5 && outcomes.refused > 5;
      });
    } finally {
      flusher.kill("SIGKILL");
      await flusher.exited;
    }
    await load(TABLE);
    await change(added("named_ipv4", ip("192.0.2.9")));
    expect(await elements("named_ipv4")).toContain("192.0.2.9");
  },
  PATIENCE_MS,
);

test(
  "the loop goes on while another program's change keeps the kernel from ours",
  async () => {
    await load(TABLE);
    const all = Array.from(
      { length: 60_000 },
      (_, number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
    );
    const big = `table inet big { set b { type ipv4_addr; elements = { ${all.join(", ")} }; }; }\n`;
    const busy = "add table inet big\ndelete table inet big\n";
    const text = `/tmp/${HERE}.nft`;
    await Bun.write(text, `${busy}${big}`);
    const other = Bun.spawn(commandIn(HERE, ["sh", "-c", `while :; do nft -f ${text}; done`]), {
      stderr: "ignore",
    });
    try {
      let number = 0;
      // If the loop itself waited, it would not come round before the change is done.
      await until(async () => {
        number = (number % 250) + 1;
        const { waited, turns } = await timed(() => change(added("named_ipv4", ip(`192.0.2.${number}`))));
        return waited > 20 && turns >= 5;
      });
    } finally {
      other.kill("SIGKILL");
      await other.exited;
      await Bun.file(text).delete();
    }
  },
  PATIENCE_MS,
);

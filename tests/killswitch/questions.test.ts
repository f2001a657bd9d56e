import { describe, expect, test } from "bun:test";
import type { FakeHost } from "../fake/host.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { Gateway, ONE } from "../tunnel/gateway.ts";

const PATIENCE_MS = 180_000;
const LISTING = "nft -s -n list table inet portcullis";
const RULES = ["ip -j -4 rule show", "ip -j -6 rule show"];
const LOAD = "nft -e -s -n -f -";
const DUMP = "wg show wg0 dump";
const ALTERED = "the kill switch's rules are not in the kernel, or another program has altered them";
/** A monitor that has ended is started again, and listens. */
const LISTENS_AGAIN_MS = 1_500;

/** A test with a connected gateway whose questions have been answered once; time passes only in `host.pass`. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>, prepare = (_: FakeHost) => {}): void {
  const run = async (directory: string) => {
    const gateway = await Gateway.watched(directory);
    prepare(gateway.host);
    await gateway.controller.connect(ONE);
    await gateway.host.pass(5_000);
    await ask(gateway);
    await work(gateway);
  };
  test(text, () => inDirectory(run), PATIENCE_MS);
}

/** Both questions, as a dashboard and a monitor ask them. */
async function ask({ controller, tunnels }: Gateway): Promise<{ active: boolean; fault: string | null }> {
  const { killswitch_active: active } = await controller.status("custom");
  return { active, fault: await tunnels.protection.fault() };
}

/** The programs that run meanwhile. */
async function programsIn({ host }: Gateway, work: () => Promise<unknown>): Promise<string[]> {
  const before = host.commands.length;
  await work();
  return host.commands.slice(before);
}

const WELL = { active: true, fault: null };
const READ_AGAIN = [LISTING, ...RULES];

describe.each(["the kernel's", "a program's"])("with %s WireGuard", (whose) => {
  const prepare = (host: FakeHost) => {
    host.native = whose === "the kernel's";
  };

  claim(
    "100 questions run no program while nothing changes",
    async (gateway) => {
      const programs = await programsIn(gateway, async () => {
        for (let count = 0; count < 100; count++) expect(await ask(gateway)).toEqual(WELL);
      });
      expect(programs).toEqual([]);
    },
    prepare,
  );

  claim(
    "counters are never more than a second old, and cost a program a second at most",
    async (gateway) => {
      const { host } = gateway;
      host.busy = true;
      const counted = async () => (await gateway.status()).rx_bytes;
      const before = await counted();
      const programs = await programsIn(gateway, async () => {
        for (let count = 0; count < 100; count++) {
          await host.pass(20);
          await gateway.status();
        }
      });
      // One at the beginning, and one of the supervisor's own.
      expect(programs.filter((program) => program !== DUMP)).toEqual([]);
      expect(programs.length).toBeLessThanOrEqual(whose === "the kernel's" ? 4 : 0);
      await host.pass(1_000);
      expect(await counted()).toBeGreaterThan(before);
    },
    prepare,
  );
});

describe("the next question reads again", () => {
  claim("after another session has taken the interface", async (gateway) => {
    const { host, controller } = gateway;
    const { latest_handshake: before } = await gateway.status();
    await controller.disconnect();
    const connecting = controller.connect(ONE);
    await host.pass(100);
    await connecting;
    const { latest_handshake: after } = await gateway.status();
    expect(Date.parse(after ?? "")).toBeGreaterThan(Date.parse(before ?? ""));
  });

  claim("after an event of either layer", async (gateway) => {
    const { host } = gateway;
    const events = {
      nft: ["add rule inet portcullis output accept", "# new generation 7 by process 4711 (nft)"],
      ip: ["[RULE]9:\tfrom all lookup main"],
    };
    for (const program of ["nft", "ip"] as const) {
      for (const line of events[program]) host.tell(program, line);
      expect(await programsIn(gateway, () => ask(gateway))).toEqual(READ_AGAIN);
      expect(await programsIn(gateway, () => ask(gateway))).toEqual([]);
      await host.pass(5_000);
      await ask(gateway);
    }
  });

  claim("after 30 s, for changes that nobody reports", async (gateway) => {
    const { host } = gateway;
    host.mute = true;
    host.removeTable();
    await host.pass(29_000);
    expect(await ask(gateway)).toEqual(WELL);
    await host.pass(1_000);
    expect(await ask(gateway)).toEqual({ active: false, fault: ALTERED });
    // It has had the damage repaired, too.
    await host.pass(1_000);
    expect(await ask(gateway)).toEqual(WELL);
  });

  claim("before an event of the firewall, if its number says that one is due", async (gateway) => {
    const { host } = gateway;
    // As the monitor has told it.
    host.generation = 7;
    expect(await programsIn(gateway, () => ask(gateway))).toEqual([]);
    host.mute = true;
    host.removeTable();
    host.generation = 8;
    expect(await ask(gateway)).toEqual({ active: false, fault: ALTERED });
  });

  claim("after a change of the gateway's own, before its event", async (gateway) => {
    const { host, controller } = gateway;
    host.mute = true;
    await gateway.operatorSwitch.turn(false);
    expect((await ask(gateway)).active).toBe(false);
    await gateway.operatorSwitch.turn(true);
    expect(await ask(gateway)).toEqual(WELL);
    const disconnected = await programsIn(gateway, async () => {
      await controller.disconnect();
      await ask(gateway);
    });
    expect(disconnected.slice(-3).toSorted()).toEqual(READ_AGAIN.toSorted());
  });

  describe.each(["nft", "ip"] as const)("while the monitor of %s is down", (program) => {
    claim("each time, until it listens again", async (gateway) => {
      const { host } = gateway;
      host.endWatches(program);
      for (let count = 0; count < 3; count++)
        expect((await programsIn(gateway, () => ask(gateway))).toSorted()).toEqual(
          [LISTING, LISTING, ...RULES].toSorted(),
        );
      await host.pass(LISTENS_AGAIN_MS + 1);
      await ask(gateway);
      expect(await programsIn(gateway, () => ask(gateway))).toEqual([]);
    });
  });

  claim("each second for sysctls, which have no event", async (gateway) => {
    const { host } = gateway;
    host.files.set("/proc/sys/net/ipv4/conf/all/send_redirects", "1\n");
    await host.pass(1_000);
    expect((await ask(gateway)).fault).toContain("net.ipv4.conf.all.send_redirects is 1");
  });

  claim("of the operator, each time", async (gateway) => {
    const { host } = gateway;
    host.mute = true;
    host.removeTable();
    expect((await gateway.tunnels.protection.inspection()).firewall).toBe(false);
  });
});

describe("a reading that is under way", () => {
  /** Lets readings end only when released; what they have read by then may be outdated. */
  function holdReadings(host: FakeHost): () => void {
    const gate = Promise.withResolvers<void>();
    const run = host.run.bind(host);
    host.run = async (argv, options) => {
      const answer = await run(argv, options);
      if (argv.join(" ") === LISTING) await gate.promise;
      return answer;
    };
    return () => {
      host.run = run;
      gate.resolve();
    };
  }

  claim("is shared by the questions after the last event", async (gateway) => {
    const { host } = gateway;
    host.tell("ip", "[RULE]9:\tfrom all lookup main");
    const release = holdReadings(host);
    const programs = await programsIn(gateway, async () => {
      const asked = [gateway.status(), gateway.status(), gateway.status()];
      release();
      await Promise.all(asked);
    });
    expect(programs).toEqual([LISTING]);
  });

  claim("when an event arrives answers no later question", async (gateway) => {
    const { host } = gateway;
    host.tell("ip", "[RULE]9:\tfrom all lookup main");
    const release = holdReadings(host);
    const before = gateway.status();
    await new Promise((resolve) => setImmediate(resolve));
    // One that is gone is loaded in the turn that reports it.
    host.flushTable();
    const after = gateway.status();
    release();
    const [earlier, later] = await Promise.all([before, after]);
    expect([earlier.killswitch_active, later.killswitch_active]).toEqual([true, false]);
  });
});

claim("damage is told while it is repaired, and not only until then", async (gateway) => {
  const { host } = gateway;
  const held = Promise.withResolvers<void>();
  host.holds = (command) => (command === LOAD ? held.promise : null);
  const repair = await programsIn(gateway, () => {
    host.removeTable();
    return host.pass(5);
  });
  expect(repair).toContain(LOAD);
  expect((await gateway.status()).killswitch_active).toBe(false);
  held.resolve();
  await host.pass(5);
  expect(await ask(gateway)).toEqual(WELL);
});

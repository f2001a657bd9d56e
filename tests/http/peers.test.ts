import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Peers } from "../../src/http/peers.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";

/** Network namespaces, and three programs, on a busy machine. */
const TIMEOUT_MS = 180_000;

/** As `ss -Htn6 state connected` prints it. */
const LISTING = [
  "ESTAB      0 0 [fe80::1]%eth0:5000 [fe80::a]:40000",
  "CLOSE-WAIT 0 0 [fe80::1]%eth1:5000 [fe80::b]:40000 ",
  "ESTAB      0 0 [fd00::1]%eth1:5000 [fe80::c]%eth1:40000",
  "ESTAB      0 0 [fe80::1]%eth0:5000 [fe80::d]:40000",
  "ESTAB      0 0 [fe80::1]%eth1:5000 [fe80::d]:40000",
  "ESTAB      0 0 [fe80::1]:5000 [fe80::e]:40000",
  "",
].join("\n");

describe("the interface of a link-local peer", () => {
  test.each([
    ["is that of its connection", "fe80::a", 40_000, "eth0"],
    ["is told of one that has said all it will", "fe80::b", 40_000, "eth1"],
    ["is told where it speaks to another address of ours", "fe80::c", 40_000, "eth1"],
    ["is not known where two peers have its address and port", "fe80::d", 40_000, null],
    ["is not known where the connection has none", "fe80::e", 40_000, null],
    ["is not known of another port", "fe80::a", 4_000, null],
    ["is not known of another address", "fe80::aa", 40_000, null],
  ])("%s", async (_, address, port, name) => {
    const peers = new Peers({ run: async () => LISTING });
    expect(await peers.interfaceOf(address, port)).toBe(name);
  });

  test("is not known where the program fails, and is asked for anew then", async () => {
    let runs = 0;
    const peers = new Peers({
      run: async () => {
        runs++;
        if (runs === 1) throw new Error("no such program");
        return LISTING;
      },
    });
    expect(await peers.interfaceOf("fe80::a", 40_000)).toBeNull();
    expect(await peers.interfaceOf("fe80::a", 40_000)).toBe("eth0");
  });

  test("is known of three thousand peers that ask at once while the service has time for other things", async () => {
    const ports = Array.from({ length: 3_000 }, (_, index) => 20_000 + index);
    const listing = ports.map((port) => `ESTAB 0 0 [fe80::1]%eth0:5000 [fe80::a]:${port}`).join("\n");
    const peers = new Peers({ run: async () => listing });
    const before = process.cpuUsage();
    const names = await Promise.all(ports.map((port) => peers.interfaceOf("fe80::a", port)));
    const { user, system } = process.cpuUsage(before);
    expect(new Set(names)).toEqual(new Set(["eth0"]));
    // Each question reading the listing for itself takes seconds.
    expect((user + system) / 1_000).toBeLessThan(500);
  });

  test("is never taken from a look that began before the question, and many questions share one", async () => {
    const answers: ((text: string) => void)[] = [];
    const peers = new Peers({ run: () => new Promise((resolve) => answers.push(resolve)) });
    const ask = () => peers.interfaceOf("fe80::a", 40_000);
    const first = ask();
    await Bun.sleep(1);
    const others = Promise.all(Array.from({ length: 100 }, ask));
    await Bun.sleep(1);
    expect(answers).toHaveLength(1);
    answers[0]?.("");
    expect(await first).toBeNull();
    await Bun.sleep(1);
    expect(answers).toHaveLength(2);
    answers[1]?.(LISTING);
    expect(new Set(await others)).toEqual(new Set(["eth0"]));
  });
});

needsNamespaces.describe("with real cables", () => {
  const here = `pc-peers-${process.pid}`;
  const there = `${here}-b`;
  const machine = new LinuxHost();
  const ip = (...words: string[]) => machine.run(["ip", ...words]);
  const link = {
    lan0: { own: "fe80::1:1", other: "fe80::1:2" },
    up0: { own: "fe80::2:1", other: "fe80::2:2" },
  };

  beforeAll(async () => {
    for (const name of [here, there]) await ip("netns", "add", name);
    for (const [name, { own, other }] of Object.entries(link)) {
      await ip("link", "add", name, "netns", here, "type", "veth", "peer", name, "netns", there);
      for (const [namespace, address] of [
        [here, own],
        [there, other],
      ] as const) {
        await ip("-n", namespace, "address", "add", `${address}/64`, "dev", name, "nodad");
        await ip("-n", namespace, "link", "set", name, "up");
      }
    }
  }, TIMEOUT_MS);
  afterAll(async () => {
    for (const name of [here, there]) await ip("netns", "del", name);
  });

  test(
    "the kernel says by which one a peer has come in",
    async () => {
      const server = `const s=Bun.serve({hostname:"::",port:5000,fetch:(r,s)=>new Response(String(s.requestIP(r).port))});console.log("ready")`;
      const child = Bun.spawn(["ip", "netns", "exec", here, process.execPath, "-e", server], {
        stdout: "pipe",
      });
      await child.stdout.getReader().read();
      const holders: Bun.Subprocess[] = [];
      try {
        for (const [name, { own, other }] of Object.entries(link)) {
          const hold = `const s=await Bun.connect({hostname:"${own}%${name}",port:5000,socket:{data(_,d){console.log(String(d).split("\\n").at(-1))}}});s.write("GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")`;
          const holder = Bun.spawn(["ip", "netns", "exec", there, process.execPath, "-e", hold], {
            stdout: "pipe",
          });
          holders.push(holder);
          const { value } = await holder.stdout.getReader().read();
          const port = Number(new TextDecoder().decode(value));
          expect(port).toBeGreaterThan(1_000);
          const peers = new Peers(new NamespaceHost(here));
          // On a busy machine the question may time out, and is answered with null.
          let found: string | null = null;
          await until(async () => {
            found = await peers.interfaceOf(other, port);
            return found !== null;
          });
          expect<string | null>(found).toBe(name);
        }
      } finally {
        for (const one of [child, ...holders]) one.kill("SIGKILL");
      }
    },
    TIMEOUT_MS,
  );
});

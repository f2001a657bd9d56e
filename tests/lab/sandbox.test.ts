import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, spyOn } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sweep } from "../../src/sandbox/sweep.ts";
import type { NetworkCards } from "../../src/sandbox/topology.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { long } from "../fast.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { type Kind, PATIENCE_MS } from "../rig/tools/traffic.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(180_000);

const ROOT = process.getuid?.() === 0;
const WEB4 = "http://203.0.113.80/ip";
const WEB6 = "http://[2001:db8:113::80]/ip";
const UPLOAD_BYTES = 1_000_000;
/** What fills the cable. */
const PACKET_BYTES = 1_500;

/** Kinds of traffic that a route can refuse at once. */
const REFUSABLE: readonly Kind[] = ["udp", "flow", "web", "ping"];

for (const cards of [1, 2] as const) {
  describe.skipIf(!ROOT)(`a sandbox with ${cards} network card${cards === 1 ? "" : "s"}`, () => {
    let lab: Lab;
    beforeAll(async () => {
      lab = await createLab({ cards });
    });
    afterAll(() => lab.close());

    test("can have three computers, each with a MAC address of its own that the gateway knows", async () => {
      const home = await createLab({ cards, computers: 3 });
      const pages = home.sandbox.computers.map(({ namespace }) =>
        Promise.all([WEB4, WEB6].map((page) => home.fetchFrom(namespace, page))),
      );
      expect(await Promise.all(pages)).toEqual([
        ["203.0.113.2", "fd77::10"],
        ["203.0.113.2", "fd77::20"],
        ["203.0.113.2", "fd77::30"],
      ]);
      const { stdout } = await home.exec(home.namespaces.gateway, [
        "ip",
        "-4",
        "neigh",
        "show",
        "dev",
        "lan0",
      ]);
      for (const { v4, mac } of home.sandbox.computers) expect(stdout).toContain(`${v4} lladdr ${mac}`);
      await home.close();
      expect(remainsOf(home.sandbox.id)).toEqual([]);
    });

    test("a phone on its internet takes a wg-quick file with a resolver, and this machine's own stay as they are", async () => {
      const home = await createLab({ cards, computers: 3 });
      const { directory, files } = home.sandbox;
      const file = join(directory, "road.conf");
      const key = Buffer.alloc(32, 8).toString("base64");
      writeFileSync(
        file,
        `[Interface]\nPrivateKey = ${key}\nAddress = 10.200.7.2/32\nDNS = 10.200.7.1\n[Peer]\nPublicKey = ${key}\nAllowedIPs = 10.200.7.0/24\n`,
        { mode: 0o600 },
      );
      const onPhone = (...argv: string[]) => home.outside([files.phone, ...argv]);
      const before = readFileSync("/etc/resolv.conf", "utf8");
      expect((await onPhone("getent", "hosts", "home.test")).stdout).toMatch(/^203\.0\.113\.2 /);
      expect(await onPhone("wg-quick", "up", file)).toMatchObject({ code: 0 });
      expect((await onPhone("cat", "/etc/resolv.conf")).stdout).toBe("nameserver 10.200.7.1\n");
      expect((await onPhone("wg", "show", "interfaces")).stdout).toBe("road\n");
      expect(existsSync("/run/wireguard/road.sock")).toBe(false);
      expect(await onPhone("wg-quick", "down", file)).toMatchObject({ code: 0 });
      expect((await onPhone("getent", "hosts", "home.test")).stdout).toMatch(/^203\.0\.113\.2 /);
      expect(readFileSync("/etc/resolv.conf", "utf8")).toBe(before);
      await home.close();
      expect(remainsOf(home.sandbox.id)).toEqual([]);
    });

    test("answers names at the router: who asks, known hosts, and no others", async () => {
      const { gateway } = lab.namespaces;
      const hosts = await lab.outside(["ip", "netns", "exec", gateway, "getent", "ahosts", "vpn2.test"]);
      expect(hosts.stdout).toContain("203.0.113.12");
      expect(hosts.stdout).toContain("2001:db8:113::12");
      expect(
        (await lab.outside(["ip", "netns", "exec", gateway, "getent", "hosts", "whoami.test"])).stdout,
      ).toMatch(/^203\.0\.113\.2 /);
      expect(
        (await lab.outside(["ip", "netns", "exec", gateway, "getent", "hosts", "nowhere.test"])).code,
      ).toBe(2);
    });

    test("answers from the address that was asked, even if its cables come after its programs", async () => {
      const { run } = LinuxHost.prototype;
      let delayed = 0;
      const late = spyOn(LinuxHost.prototype, "run").mockImplementation(async function (
        this: LinuxHost,
        argv,
        options,
      ) {
        const text = (await options?.stdin) ?? "";
        const [internet] = /\S+-internet\b/.exec(text) ?? [];
        if (internet !== undefined && text.includes("type veth")) {
          const sockets = async () => await run.call(this, ["ip", "netns", "exec", internet, "ss", "-uln"]);
          await until(async () => (await sockets()).includes("203.0.113.53:53"));
          delayed += 1;
        }
        return run.call(this, argv, options);
      });
      const slow = await createLab({ cards }).finally(() => late.mockRestore());
      const answers = await slow.outside([
        ...["ip", "netns", "exec", slow.namespaces.gateway],
        ...["getent", "hosts", "whoami.test"],
      ]);
      await slow.close();
      expect(delayed).toBe(1);
      expect(answers.stdout).toMatch(/^203\.0\.113\.2 /);
    });

    test("shows a sniffer each packet of a long upload as a frame of its own", async () => {
      const { client } = lab.namespaces;
      const [sniffer, own] = [await lab.sniff(), await Wiretap.start(client, "lan0", "tcp")];
      const upload = ["curl", "-s", "-m", "60", "--data-binary", "@-", WEB4];
      expect((await lab.exec(client, upload, "x".repeat(UPLOAD_BYTES))).code).toBe(0);
      const { leaks, missed } = await sniffer.stop();
      expect(missed).toBe(0);
      expect(leaks.length).toBeGreaterThan(UPLOAD_BYTES / PACKET_BYTES);
      expect(leaks.filter((leak) => !leak.includes("203.0.113.80 TCP"))).toEqual([]);
      // The client itself has given its cable several at once.
      const sizes = (await own.stop()).map((line) => Number(/ length (\d+)/.exec(line)?.[1]));
      expect(Math.max(...sizes)).toBeGreaterThan(PACKET_BYTES);
    });

    test("counts refusals as refused, and silence as lost", async () => {
      const { client } = lab.namespaces;
      await lab.exec(client, ["ip", "route", "add", "unreachable", "203.0.113.80"]);
      const refused = await lab.traffic(client, { kinds: REFUSABLE });
      await until(async () => {
        const report = await refused.count();
        return REFUSABLE.every((kind) => (report[kind]?.refused ?? 0) > 0);
      });
      const report = await refused.stop();
      await lab.exec(client, ["ip", "route", "delete", "unreachable", "203.0.113.80"]);
      await lab.exec(lab.namespaces.router, ["ip", "route", "add", "blackhole", "203.0.113.80"]);
      const silent = await lab.traffic(client, { kinds: ["udp"] });
      await silent.sends(20);
      const silence = await silent.stop();
      await lab.exec(lab.namespaces.router, ["ip", "route", "delete", "blackhole", "203.0.113.80"]);
      for (const kind of REFUSABLE) {
        expect(report[kind]?.answered).toBe(0);
        expect(report[kind]?.refused).toBeGreaterThan(0);
      }
      expect(silence.udp?.lost.length).toBe(silence.udp?.sent ?? 0);
    });

    test("takes no answer for lost because a sender had no processor for a while", async () => {
      const lostOnes = async () => {
        const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"], intervalMs: 1 });
        for (let round = 0; round < 3; round++) {
          await traffic.sends(20);
          await traffic.stalls(1.5 * PATIENCE_MS);
        }
        await traffic.sends(20);
        return (await traffic.stop()).udp?.lost;
      };
      // A busy machine may lose one on its way. Answers that come late come late each time.
      let lost = await lostOnes();
      for (let play = 1; play < 4 && lost?.length !== 0; play++) lost = await lostOnes();
      expect(lost).toEqual([]);
    });

    test("takes no answer for lost because it comes late", async () => {
      await lab.delay(0.6 * PATIENCE_MS);
      const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
      await traffic.sends(500);
      const { udp } = await traffic.stop();
      await lab.delay(0);
      // The answers to the last ones may be under way.
      expect(udp?.lost.filter((each) => each <= 300)).toEqual([]);
    });
  });
}

describe.skipIf(!ROOT)("the remains of sandboxes", () => {
  afterEach(() => sweep(new LinuxHost()));

  test("do not exist after close, though programs still ran inside", async () => {
    const lab = await createLab({ cards: 1 });
    const { id } = lab.sandbox;
    await lab.exec(lab.namespaces.gateway, ["wireguard-go", `${lab.sandbox.interface}0`]);
    void lab.traffic(lab.namespaces.client).catch(() => {});
    expect(remainsOf(id).length).toBeGreaterThan(10);
    await lab.close();
    expect(remainsOf(id)).toEqual([]);
    await lab.close();
  });

  test("are swept when their owner was killed, and only then", async () => {
    const owner = Bun.spawn([process.execPath, "-e", OWNER], {
      stdout: "pipe",
      cwd: join(import.meta.dir, "../.."),
    });
    const [first] = await Array.fromAsync(firstLine(owner.stdout));
    const id = first ?? "";
    const host = new LinuxHost();
    await sweep(host);
    expect(remainsOf(id).length).toBeGreaterThan(10);
    owner.kill("SIGKILL");
    await owner.exited;
    await sweep(host);
    expect(remainsOf(id)).toEqual([]);
  });

  test("of one sandbox are not those of another that runs at the same time", async () => {
    const cards: NetworkCards[] = [1, 2];
    const [one, two] = await Promise.all(cards.map((number) => createLab({ cards: number })));
    if (one === undefined || two === undefined) throw new Error("no lab");
    await one.close();
    expect(remainsOf(one.sandbox.id)).toEqual([]);
    expect(await two.fetchFrom(two.namespaces.client, WEB4)).toBe("203.0.113.2");
    await two.close();
  });
});

const OWNER = `
  import { Sandbox } from "./src/sandbox/sandbox.ts";
  const sandbox = await Sandbox.create({ cards: 2 });
  console.log(sandbox.id);
  setInterval(() => {}, 1_000);
`;

/** Everything on this machine that carries the sandbox's name. */
function remainsOf(id: string): string[] {
  const own = (name: string) =>
    name === id || name.startsWith(`${id}-`) || new RegExp(`^${id}[gv]`).test(name);
  const files = ["/run/netns", "/etc/netns", "/var/run/wireguard", tmpdir()].flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).filter(own) : [],
  );
  return [...files, ...commandsWith(id)];
}

function commandsWith(id: string): string[] {
  const { stdout } = Bun.spawnSync(["ps", "-eo", "args"]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => new RegExp(`\\b${id}[-gv]`).test(line));
}

async function* firstLine(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  for await (const chunk of stream) {
    yield new TextDecoder().decode(chunk).trim();
    return;
  }
}

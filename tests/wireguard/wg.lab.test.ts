import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { connect } from "node:net";
import fc from "fast-check";
import { parsePrefix } from "../../src/base/address.ts";
import { parseDump, parseUapi, setconfText, uapiText } from "../../src/wireguard/interface.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { ip } from "../fake/address.ts";
import { needsNamespaces, runs } from "../fast.ts";
import { config } from "./arbitrary.ts";

const NAMESPACE = `w${process.pid}`;
const INTERFACE = `wt${process.pid}`;
const SOCKET = `/var/run/wireguard/${INTERFACE}.sock`;

const link = fc.record({
  endpoint: fc.record({
    address: fc.oneof(fc.ipV4(), fc.ipV6()).map(ip),
    port: fc.integer({ min: 1, max: 65535 }),
  }),
  fwmark: fc.integer({ min: 1, max: 0xffff_ffff }),
  keepalive: fc.nat(65535),
});

needsNamespaces.describe("a real WireGuard interface in a namespace of its own", () => {
  let daemon: ReturnType<typeof Bun.spawn>;

  beforeAll(async () => {
    run(["ip", "netns", "add", NAMESPACE]);
    daemon = Bun.spawn(["ip", "netns", "exec", NAMESPACE, "wireguard-go", "-f", INTERFACE], {
      stdout: "ignore",
      stderr: "ignore",
    });
    for (let tries = 0; !existsSync(SOCKET) && tries < 1_200; tries++) await Bun.sleep(25);
  }, 180_000);

  afterAll(async () => {
    daemon?.kill();
    await daemon?.exited;
    run(["ip", "netns", "del", NAMESPACE]);
    rmSync(SOCKET, { force: true });
  });

  test("an interface without a configuration gives the same result through both interfaces", async () => {
    const dump = parseDump(wg(["show", INTERFACE, "dump"]));
    expect(dump).toEqual({ publicKey: null, fwmark: 0, peer: null });
    expect(parseUapi(await uapi())).toEqual(dump);
  });

  test("wg setconf accepts every configuration that the gateway accepts, and it is read back the same", async () => {
    await fc.assert(
      fc.asyncProperty(config, link, async (made, how) => {
        const own = { privateKey: made.interface.privateKey, fwmark: how.fwmark };
        const peer = { config: made.peer, endpoint: how.endpoint, keepalive: how.keepalive };
        wg(["setconf", INTERFACE, "/dev/stdin"], setconfText(own, [peer]));
        const text = wg(["show", INTERFACE, "dump"]);
        const parsed = parseDump(text);
        expect(parsed.publicKey).toBe(publicKeyOf(made.interface.privateKey));
        expect(parsed.fwmark).toBe(how.fwmark);
        expect(parsed.peer?.publicKey).toBe(made.peer.publicKey);
        expect(parsed.peer?.latestHandshake).toBe(0);
        expect(parsed.peer?.endpoint).toEqual(how.endpoint);
        expect(parseUapi(await uapi())).toEqual(parsed);

        const [, presharedKey, , allowedIps, , , , keepalive] = text.split("\n")[1]?.split("\t") ?? [];
        expect(presharedKey).toBe(made.peer.presharedKey ?? "(none)");
        expect(allowedIps?.split(",").map(respelled).toSorted()).toEqual(made.peer.allowedIps.toSorted());
        expect(keepalive).toBe(how.keepalive === 0 ? "off" : String(how.keepalive));

        // The userspace interface gives the same result.
        const withoutPort = (dump: string) => dump.split("\t").toSpliced(2, 1).join("\t");
        expect(await uapi(uapiText(own, [peer]))).toBe("errno=0\n\n");
        expect(withoutPort(wg(["show", INTERFACE, "dump"]))).toBe(withoutPort(text));
      }),
      { numRuns: runs(100) },
    );
  }, 180_000);
});

/** A prefix as the gateway spells it. */
function respelled(text: string): string {
  return parsePrefix(text) ?? text;
}

function wg(argv: string[], stdin = ""): string {
  return run(["ip", "netns", "exec", NAMESPACE, "wg", ...argv], stdin);
}

function run(argv: string[], stdin = ""): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(argv, { stdin: Buffer.from(stdin) });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return stdout.toString();
}

function uapi(request = "get=1\n\n"): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(SOCKET, () => socket.write(request));
    socket.on("error", reject);
    socket.on("data", (data) => {
      answer += data;
      if (answer.endsWith("\n\n")) resolve(socket.end() && answer);
    });
  });
}

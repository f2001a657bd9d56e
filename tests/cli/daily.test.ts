import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { ml_kem1024 } from "@noble/post-quantum/ml-kem.js";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

// Each command starts the program, and the machine may be busy.
setDefaultTimeout(240_000);

let home: Home;
beforeEach(async () => {
  home = await Home.withRealClock();
});
afterEach(() => home.stop());

const portcullis = (...args: string[]) => run(home.port, args);
const ok = (stdout: string) => ({ code: 0, stdout, stderr: "" });

test("status prints a few aligned lines for people and the gateway's answer for scripts, and no colours into a pipe", async () => {
  expect(await portcullis("status")).toEqual(
    ok(
      "Home         Blocked\n             Nothing leaves: there is no tunnel.\n" +
        "State        disconnected\nKill switch  active\nDevices      none was seen yet\nServers      VPN account\n",
    ),
  );
  await home.parts.connects.connect({ server: "se-1" });
  await home.parts.operatorSwitch.turn(false);
  const connected = await portcullis("status");
  const ago = /^Handshake {4}(\d+ (?:s|min) ago)$/m.exec(connected.stdout)?.[1];
  expect(connected).toEqual(
    ok(
      "Home         Exposed\n             The kill switch was turned off on the gateway: traffic might leave outside the tunnel.\n" +
        "State        connected\nServer       se-1 (Stockholm, Sweden)\nAddress      192.0.2.1\nUptime       0h 0m\n" +
        `Handshake    ${ago}\nTraffic      92 B received, 180 B sent\nKill switch  off\nDevices      none was seen yet\nServers      VPN account\n`,
    ),
  );
  const { stdout } = await portcullis("status", "--json");
  expect(JSON.parse(stdout)).toEqual(await home.parts.overview.status());
});

test("to use what is no provider is a usage error", async () => {
  const wrong = await portcullis("use", "nonsense");
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("account, own, imported, mullvad, ivpn");
});

test.each([
  ["account", "managed"],
  ["managed", "managed"],
  ["custom", "custom"],
  ["imported", "imported"],
] as const)("use takes people's word and the interface's name: %s", async (typed, provider) => {
  expect((await portcullis("use", typed)).code).toBe(0);
  expect(home.parts.catalogue.current()).toBe(provider);
});

test("use with a company's name chooses the account's servers, and that company for them", async () => {
  home.parts.catalogue.use("custom");
  expect(await portcullis("use", "mullvad")).toEqual(
    ok("From now on, connect uses the VPN account's servers (mullvad).\n"),
  );
  expect([home.parts.catalogue.current(), home.parts.accounts.managed().current]).toEqual([
    "managed",
    "mullvad",
  ]);
});

test("servers are listed by country and city in any letter case, or only by name or place", async () => {
  const tree = "Sweden\n  Stockholm\n    se-1  192.0.2.1  Managed\n";
  expect(await portcullis("servers")).toEqual(ok(tree));
  expect(await portcullis("servers", "sweden", "STOCKHOLM")).toEqual(ok(tree));
  expect(await portcullis("servers", "--names")).toEqual(ok("se-1\n"));
  expect(await portcullis("servers", "--places")).toEqual(ok("Sweden\nStockholm\n"));
  expect(await portcullis("servers", "--places", "--names")).toEqual(ok("Sweden\nStockholm\nse-1\n"));
  const none = await portcullis("servers", "Sweden", "Oslo");
  expect(none.code).toBe(1);
  expect(none.stderr).toContain("none of the VPN account's servers is in Oslo, Sweden");
  expect(JSON.parse((await portcullis("servers", "Sweden", "--json")).stdout)).toEqual(
    home.parts.catalogue.tree(),
  );
});

test("connect --via names both hops, and so does the status", async () => {
  const hops = ["nl-1", "se-2"].map((hostname, index) => ({
    ...{ hostname, country: "Sweden", city: "Malmö", ipv4: `192.0.2.${index + 2}`, port: 51820 },
    ...{ public_key: publicKeyOf(new Uint8Array(32).fill(index + 1).toBase64()), multihop_port: 3001 },
  }));
  await home.relist(hops);
  expect(await portcullis("connect", "se-2", "--via", "nl-1")).toEqual(
    ok("Connected to se-2 (Malmö, Sweden) via nl-1.\n"),
  );
  const { stdout } = await portcullis("status");
  expect(stdout).toContain("\nServer       se-2 (Malmö, Sweden) via nl-1\nAddress      192.0.2.2\n");
  expect(await portcullis("tunnel", "main", "connect", "nl-1", "--via", "se-2")).toEqual(
    ok("The main tunnel is connected to nl-1 (Malmö, Sweden) via se-2.\n"),
  );
  expect((await portcullis("tunnels")).stdout).toMatch(/^main +connected +nl-1 \(Malmö, Sweden\) via se-2 /m);
  expect(await portcullis("connect", "se-2", "--via", "se-2")).toMatchObject({
    code: 1,
    stderr: "portcullis: via: se-2 cannot be entry and exit at once; choose another entry\n",
  });
  expect((await portcullis("tunnel", "main", "disconnect", "--via", "se-2")).code).toBe(2);
});

test("connect --transport reaches a server over TCP, and says so", async () => {
  const server = {
    ...{ hostname: "se-3", country: "Sweden", city: "Malmö", ipv4: "192.0.2.3", port: 51820 },
    ...{ public_key: publicKeyOf(new Uint8Array(32).fill(3).toBase64()), udp2tcp: [443] },
  };
  await home.relist([server]);
  expect(await portcullis("connect", "se-3", "--transport", "udp2tcp")).toEqual(
    ok("Connected to se-3 (Malmö, Sweden) by udp2tcp.\n"),
  );
  expect((await portcullis("status")).stdout).toContain("\nServer       se-3 (Malmö, Sweden) by udp2tcp\n");
  expect(await portcullis("tunnel", "main", "connect", "se-3", "--transport", "plain")).toEqual(
    ok("The main tunnel is connected to se-3 (Malmö, Sweden).\n"),
  );
  for (const wrong of [
    ["connect", "se-3", "--transport", "tcp"],
    ["tunnel", "main", "disconnect", "--transport", "plain"],
  ])
    expect((await portcullis(...wrong)).code).toBe(2);
});

test("connect --then names what comes next, and the status says which is taken", async () => {
  const servers = [3, 4].map((number) => ({
    ...{ hostname: `se-${number}`, country: "Sweden", city: "Malmö", ipv4: `192.0.2.${number}`, port: 51820 },
    public_key: publicKeyOf(new Uint8Array(32).fill(number).toBase64()),
  }));
  await home.relist(servers);
  expect(await portcullis("connect", "se-3", "--then", "se-4", "--then", "Sweden")).toEqual(
    ok("Connected to se-3 (Malmö, Sweden).\n"),
  );
  expect((await portcullis("status")).stdout).toContain("\nOrder        se-3, se-4, Sweden: number 1 of 3\n");
  expect(
    await portcullis(
      ...["tunnel", "main", "connect", "se-4", "--then", "se-3", "--transport", "plain", "--back", "30"],
      ...["--quiet", "--leave", "slow,lossy"],
    ),
  ).toEqual(ok("The main tunnel is connected to se-4 (Malmö, Sweden).\n"));
  expect((await portcullis("status")).stdout).toContain(
    "\nOrder        se-4, se-3: number 1 of 2, left when slow or lossy\n",
  );
  expect(home.parts.savedState.connection()?.order).toMatchObject({
    back_after_minutes: 30,
    back_when_quiet: true,
    move_when: ["slow", "lossy"],
  });
  for (const wrong of [
    ["connect", "se-4", "--then", "se-3", "--back", "soon"],
    ["tunnel", "main", "disconnect", "--back", "1"],
    ["tunnel", "main", "disconnect", "--quiet"],
    ["tunnel", "main", "disconnect", "--leave", "slow"],
    ["connect", "se-4", "--then", "se-3", "--leave", "slow,slow"],
  ])
    expect((await portcullis(...wrong)).code).toBe(2);
  expect(await portcullis("connect", "se-3", "--then", "se-5")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^portcullis: targets: 2: server: /),
  });
  expect((await portcullis("tunnel", "main", "disconnect", "--then", "se-3")).code).toBe(2);
  const { order } = await home.status();
  await portcullis("disconnect");
  expect((await portcullis("status")).stdout).toContain(
    "\nLast         se-4, then se-3; again by: portcullis connect\n",
  );
  expect((await portcullis("connect", "--via", "se-3")).stderr).toBe(
    "portcullis: missing argument 'server': where should the tunnel lead?\n",
  );
  expect(await portcullis("connect")).toEqual(ok("Connected to se-4 (Malmö, Sweden).\n"));
  expect((await home.status()).order).toEqual(order);
  expect(await portcullis("connect")).toMatchObject({
    code: 2,
    stderr: "portcullis: missing argument 'server': the main tunnel should lead to se-4 already\n",
  });
  expect(await portcullis("connect", "se-3")).toEqual(ok("Connected to se-3 (Malmö, Sweden).\n"));
  expect((await portcullis("status")).stdout).not.toContain("Order");
});

test("connect --quantum asks for keys that are safe from quantum computers, and says whether they are", async () => {
  const servers = [3, 4].map((number) => ({
    ...{ hostname: `se-${number}`, country: "Sweden", city: "Malmö", ipv4: `192.0.2.${number}`, port: 51820 },
    public_key: publicKeyOf(new Uint8Array(32).fill(number).toBase64()),
    ...(number === 3 && { ephemeral_peers: true }),
  }));
  await home.relist(servers);
  const place = "se-3 (Malmö, Sweden)";
  expect(await portcullis("connect", "se-3", "--quantum", "on")).toEqual(
    ok(`Connected to ${place}, not safe from quantum computers.\n`),
  );
  home.host.services.set("10.64.0.1:1337", ({ message }) => {
    const { cipherText } = ml_kem1024.encapsulate(message.slice(-1568));
    // Two fields, one inside the other, each of which has two bytes of length.
    return Buffer.concat([Uint8Array.of(10, 0xa3, 12, 10, 0xa0, 12), cipherText]);
  });
  expect(await portcullis("tunnel", "main", "connect", "se-3", "--quantum", "require")).toEqual(
    ok(`The main tunnel is connected to ${place}, safe from quantum computers.\n`),
  );
  expect((await portcullis("status")).stdout).toContain(
    `\nServer       ${place}, safe from quantum computers\n`,
  );
  expect(await portcullis("connect", "se-4", "--quantum", "on")).toMatchObject({
    code: 1,
    stderr:
      "portcullis: quantum: se-4 agrees on no keys that are safe from quantum computers; only Mullvad's servers do. Choose one of them, or off\n",
  });
  for (const wrong of [
    ["connect", "se-3", "--quantum", "yes"],
    ["tunnel", "main", "disconnect", "--quantum", "on"],
  ])
    expect((await portcullis(...wrong)).code).toBe(2);
});

test("connect and disconnect say what happened; a refusal is printed as the gateway words it, with exit code 1", async () => {
  expect(await portcullis("connect", "se-1")).toEqual(ok("Connected to se-1 (Stockholm, Sweden).\n"));
  expect(await home.parts.overview.status()).toMatchObject({ connected: true, server: "se-1" });
  expect(await portcullis("disconnect")).toEqual(ok("Disconnected - No internet (kill switch active)\n"));
  home.host.silent.add("192.0.2.1:51820");
  expect(await portcullis("connect", "se-1")).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "portcullis: se-1 did not answer the WireGuard handshake within 10 s: is it up, and are the keys right?\n",
  });
  const json = await portcullis("connect", "nowhere", "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual({
    success: false,
    error: "server: there is no server, country or city of this name among the VPN account's servers",
  });
});

test("keypair prints both keys", async () => {
  const { stdout, ...others } = await portcullis("keypair");
  const [, privateKey = ""] = /^Private key {2}(\S+)$/m.exec(stdout) ?? [];
  expect({ stdout, ...others }).toEqual(
    ok(`Private key  ${privateKey}\nPublic key   ${publicKeyOf(privateKey)}\n`),
  );
});

test("without a gateway the exit code is 3 and the message says what to do, with --json as JSON", async () => {
  const { code, stdout, stderr } = await portcullis("status", "--url", "http://127.0.0.1:1");
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toBe(
    "portcullis: cannot reach the gateway at http://127.0.0.1:1: connection refused; is the service running? " +
      "systemctl status portcullis; if this machine is not a gateway yet: sudo portcullis install\n",
  );
  const json = await portcullis("status", "--json", "--url", "http://127.0.0.1:1");
  expect(json.code).toBe(3);
  expect(JSON.parse(json.stdout)).toEqual({
    success: false,
    error: stderr.replace("portcullis: ", "").trim(),
  });
  const watch = await portcullis("status", "--watch", "--url", "http://127.0.0.1:1");
  expect(watch.code).toBe(3);
});

test.each([
  ["status", ["status"]],
  ["connect", ["connect", "box-vpn-1"]],
  ["devices", ["devices"]],
  ["remove", ["remove", "home", "--provider", "custom"]],
])("the error of a malicious gateway cannot move the cursor, or begin a line: %s", async (_, command) => {
  const error = "\x1b]0;title\x07\nportcullis: all is well\x9b2J";
  const other = Bun.serve({
    port: 0,
    fetch: () => Response.json({ success: false, error }, { status: 400 }),
  });
  try {
    const { code, stdout, stderr } = await portcullis(...command, "--url", `http://127.0.0.1:${other.port}`);
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 1, stdout: "" },
      stderr: "portcullis: \uFFFD]0;title\uFFFD\uFFFDportcullis: all is well\uFFFD2J\n",
    });
  } finally {
    await other.stop(true);
  }
});

test("another HTTP server is not mistaken for a gateway, and text from a malicious one cannot move the cursor", async () => {
  const error = "\x1b[2Jcleared\u202Egnp";
  const other = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      url.endsWith("/api/status")
        ? new Response("<h1>router</h1>")
        : Response.json({ servers: { [error]: { [error]: [] } }, provider: "managed" }),
  });
  try {
    const url = `http://127.0.0.1:${other.port}`;
    const status = await portcullis("status", "--url", url);
    expect(status.code).toBe(3);
    expect(status.stderr).toContain("the program that answers there is not a Portcullis gateway");
    const { stdout } = await portcullis("servers", "--url", url);
    expect(stdout).toBe("\uFFFD[2Jcleared\uFFFDgnp\n  \uFFFD[2Jcleared\uFFFDgnp\n");
  } finally {
    await other.stop(true);
  }
});

test("a proxy in the environment is not used", async () => {
  const proxy = "http://127.0.0.1:1";
  const env = { http_proxy: proxy, HTTP_PROXY: proxy, all_proxy: proxy, no_proxy: "example.org" };
  expect((await run(home.port, ["status"], { env })).code).toBe(0);
});

test("a usage error exits 2 with one line that does not repeat a key", async () => {
  const key = "cHJpdmF0ZSBrZXkgZm9yIHRlc3RzLCAzMiBieXRlcyE=";
  for (const args of [
    ["connect"],
    ["status", "--url", "ftp://x"],
    ["status", "--url", "http://x/api"],
    ["keypair", `--private-key=${key}`],
    ["keypair", key],
  ]) {
    const { code, stderr } = await portcullis(...args);
    expect({ args, code, lines: stderr.trim().split("\n").length }).toEqual({ args, code: 2, lines: 1 });
    expect(stderr).not.toContain(key);
  }
});

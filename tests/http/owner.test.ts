import { afterEach, beforeEach, expect, setDefaultTimeout } from "bun:test";
import type { Settings } from "../../src/base/settings.ts";
import { NETWORKS, UNSET_NETWORK } from "../../src/devices/network-record.ts";
import { claimRoutes } from "../../src/http/claim.ts";
import type { Domain } from "../../src/http/domain.ts";
import { followMessages } from "../../src/http/messages.ts";
import { UPLINK_FILE } from "../../src/network/ports.ts";
import { cidr, ip } from "../fake/address.ts";
import { newLink } from "../fake/link.ts";
import { slow } from "../fast.ts";
import { bearing, SecureHome, TIMEOUT_MS } from "./secure-home.ts";

const { test } = slow;

setDefaultTimeout(TIMEOUT_MS);

const PASSPHRASE = "correct horse battery";
const TOKEN = /^portcullis_[0-9a-z]{26}$/;

let secure: SecureHome;
beforeEach(async () => {
  secure = await SecureHome.start();
});
afterEach(() => secure.stop());

const send = (method: string, path: string, body?: object, token?: string) =>
  secure.send(method, path, body, token === undefined ? {} : bearing(token));

const pair = (code: string, name = "laptop", passphrase = PASSPHRASE) =>
  send("POST", "/api/owner/pair", { code, name, passphrase });

/** The token of a new owner. */
async function owner(name = "laptop"): Promise<string> {
  const { status, json } = await pair(secure.home.parts.pairing.start(), name);
  expect([status, json.owner]).toEqual([200, true]);
  return json.token;
}

async function demand(auth: Settings["auth"]): Promise<void> {
  await secure.stop();
  secure = await SecureHome.start(auth);
}

/** What is otherwise root's, with bodies that are valid. */
const ROOTS = [
  ["PUT", "/api/owner/remote", { on: true }],
  ["PUT", "/api/owner/direct", { allowed: true, passphrase: PASSPHRASE }],
  ["PUT", "/api/owner/killswitch", { on: false, passphrase: PASSPHRASE }],
] as const;

/** Whether remote access is on, `direct` allowed, and the kill switch off. */
const opened = async () => {
  const { remoteAccess, devices, killSwitch } = secure.home.parts;
  return [(await remoteAccess.status()).on, devices.direct.allowed, !killSwitch.isWanted];
};

test.each<Settings["auth"]>(["off", "write", "on"])(
  "with --auth %s a code makes an owner, who does over HTTPS what only root does",
  async (auth) => {
    await demand(auth);
    const code = secure.home.parts.pairing.start();
    const { status, json, headers } = await pair(code);
    expect([status, json, headers.get("cache-control")]).toEqual([
      200,
      {
        ...{ name: "laptop", read_only: false, owner: true, created_at: expect.any(String) },
        token: expect.stringMatching(TOKEN),
      },
      "no-store",
    ]);
    const { token } = json;
    expect((await send("GET", "/api/access", undefined, token)).json).toEqual({
      auth,
      token: { name: "laptop", read_only: false, owner: true },
    });
    expect(await opened()).toEqual([false, false, false]);
    for (const [method, path, body] of ROOTS)
      expect({ path, ...(await send(method, path, body, token)) }).toMatchObject({ path, status: 200 });
    expect(await opened()).toEqual([true, true, true]);
    for (const [path, body] of [
      ["/api/owner/remote", { on: false }],
      ["/api/owner/direct", { allowed: false }],
      ["/api/owner/killswitch", { on: true }],
    ] as const)
      expect((await send("PUT", path, body, token)).status).toBe(200);
    expect(await opened()).toEqual([false, false, false]);
    expect((await secure.alerts(bearing(token))).filter((each) => each.includes("laptop"))).toEqual([
      "The token laptop, which may do all that root may, was made by 127.0.0.1.",
      "Remote access was turned on by the token laptop.",
      "The exit direct was allowed by the token laptop.",
      "The kill switch was turned off by the token laptop.",
      "Remote access was turned off by the token laptop.",
      "The exit direct was withdrawn by the token laptop.",
      "The kill switch was turned on by the token laptop.",
    ]);
  },
);

test.each<Settings["auth"]>(["off", "on"])(
  "with --auth %s nobody else does: no token, a wrong one, a lesser one, root's own, one that was removed",
  async (auth) => {
    await demand(auth);
    const { tokens } = secure.home.parts;
    const gone = await owner("gone");
    await tokens.remove("gone");
    const phone = (await tokens.add("phone", false)).token;
    const tablet = (await tokens.add("tablet", true)).token;
    for (const [method, path, body] of ROOTS)
      for (const token of [undefined, phone, tablet, tokens.own, gone, `portcullis_${"0".repeat(26)}`]) {
        const { status, json } = await send(method, path, body, token);
        expect([token, [401, 403].includes(status), json.success]).toEqual([token, true, false]);
      }
    expect(await opened()).toEqual([false, false, false]);
  },
);

test("settings and updates are root's own commands, with the flags that were asked for; passwords are in no alert", async () => {
  const token = await owner();
  const { rootCommands } = secure.home.parts;
  const asked: unknown[] = [];
  rootCommands.setUp = async (...given) => void asked.push(given);
  rootCommands.update = async (...given) => void asked.push(given);
  const told = { current: "0.1.0", offered: "0.2.0", newer: true, notes: "Faster." };
  rootCommands.checkUpdate = async () => JSON.stringify({ success: true, file: "a.deb", ...told });
  const mqtt = { mqtt: "mqtt://portcullis@192.168.1.10", mqtt_password: "hush hush", mqtt_commands: false };
  for (const body of [{ dhcp: "192.168.1.100-192.168.1.200", auth: "write" }, mqtt])
    expect((await send("PUT", "/api/owner/settings", body, token)).status).toBe(200);
  for (const body of [
    {},
    { dhcp: "--lan" },
    { mqtt: "-x" },
    { mqtt: "mqtt://a b" },
    { mqtt: "mqtt://portcullis:secret@192.168.1.10" },
    { auth: "none" },
    { lan: "eth0" },
  ])
    expect((await send("PUT", "/api/owner/settings", body, token)).status).toBe(400);
  const release = "https://example.org/1/";
  const look = await send("POST", "/api/owner/update", { release }, token);
  expect([look.status, look.json, asked.length]).toEqual([200, told, 2]);
  expect((await send("POST", "/api/owner/update", { release, install: true }, token)).status).toBe(200);
  expect((await send("POST", "/api/owner/update", { release: "--yes" }, token)).status).toBe(400);
  expect((await send("PUT", "/api/owner/settings", { auth: "off" })).status).toBe(403);
  expect(asked).toEqual([
    [["--dhcp", "192.168.1.100-192.168.1.200", "--auth", "write"], expect.any(Function), undefined],
    [
      ["--mqtt", "mqtt://portcullis@192.168.1.10", "--mqtt-commands", "off"],
      expect.any(Function),
      "hush hush",
    ],
    [release],
  ]);
  const alerts = await secure.alerts();
  expect(alerts.slice(1)).toEqual([
    "The settings dhcp, auth were changed by the token laptop; the service restarts with them.",
    "The settings mqtt, mqtt_commands were changed by the token laptop; the service restarts with them.",
    "An update from https://example.org/1/ was begun by the token laptop.",
  ]);
});

test("an owner who is removed while root's commands are tried changes nothing any more", async () => {
  const { rootCommands, tokens } = secure.home.parts;
  const done: string[] = [];
  rootCommands.setUp = async (_, assertMay) => {
    await tokens.remove("laptop");
    assertMay();
    done.push("settings");
  };
  rootCommands.checkUpdate = async () => {
    await tokens.remove("laptop");
    return JSON.stringify({ success: true, current: "0.1.0", offered: "0.2.0", newer: true, notes: "" });
  };
  rootCommands.update = async () => void done.push("update");
  for (const [method, path, body] of [
    ["PUT", "/api/owner/settings", { auth: "off" }],
    ["POST", "/api/owner/update", { release: "https://example.org/1/", install: true }],
  ] as const)
    expect((await send(method, path, body, await owner())).status).toBe(403);
  expect(done).toEqual([]);
});

test("an owner gives the ports of a flashed gateway other roles; a preview begins nothing, and nobody else reads them", async () => {
  const token = await owner();
  const { host, parts } = secure.home;
  const asked: unknown[] = [];
  parts.rootCommands.assignPorts = async (roles) => void asked.push(roles);
  const path = "/api/owner/ports";
  const wanted = { uplink: "eth0", lan: ["eth1"] };
  const elsewhere = await send("PUT", path, wanted, token);
  expect([elsewhere.status, elsewhere.json.error]).toEqual([
    500,
    "only a flashed gateway has such ports; type: sudo portcullis setup --lan … --uplink …; nothing was changed",
  ]);
  host.files.set(UPLINK_FILE, "");
  for (const name of ["eth0", "eth1"]) host.links.set(name, newLink({ up: true }));
  const change = { after: { ...wanted, dhcp: true }, cut: true };
  for (const sent of [{ ...wanted, preview: true }, wanted]) {
    expect(asked).toEqual([]);
    const { status, json } = await send("PUT", path, sent, token);
    expect({ status, json }).toMatchObject({ status: 200, json: change });
  }
  expect(asked).toEqual([{ uplink: "eth0", lans: ["eth1"] }]);
  parts.store.write(NETWORKS.key, NETWORKS.format([["eth1", { ...UNSET_NETWORK, page: false }]]));
  const closed = await send("PUT", path, wanted, token);
  expect([closed.status, closed.json.error]).toEqual([400, expect.stringContaining("may use the page")]);
  expect((await send("GET", path, undefined, token)).json).toMatchObject({
    ports: [
      { name: "eth0", plugged: true },
      { name: "eth1", plugged: true },
    ],
  });
  const phone = (await parts.tokens.add("phone", false)).token;
  for (const other of [undefined, phone])
    for (const method of ["GET", "PUT"])
      expect([401, 403]).toContain((await send(method, path, wanted, other)).status);
  expect(asked).toHaveLength(1);
  expect((await secure.alerts()).filter((each) => each.includes("uplink"))).toEqual([
    "The settings uplink, lan were changed by the token laptop; the service restarts with them.",
  ]);
});

test("a program that is not installed leaves the machine alone", async () => {
  const { status, json } = await send("PUT", "/api/owner/settings", { auth: "on" }, await owner());
  expect([status, json.error]).toEqual([500, expect.stringContaining("this is not the installed program")]);
});

test("over HTTP an owner's token does nothing at all, and the answer says where HTTPS is", async () => {
  const token = await owner();
  for (const headers of [
    {},
    { "X-Forwarded-Proto": "https", "X-Forwarded-For": "127.0.0.1", Forwarded: "proto=https" },
    { Host: "localhost:443" },
  ])
    for (const [method, path, body] of [ROOTS[0], ["GET", "/api/status"], ["GET", "/metrics"]] as const) {
      const sent = body && JSON.stringify(body);
      const { status, json } = await secure.home.send(method, path, sent, { ...bearing(token), ...headers });
      expect([path, status, json.error]).toEqual([
        path,
        403,
        expect.stringContaining("by HTTPS only: use https:"),
      ]);
    }
  // What a client writes before the path does not make it HTTPS.
  const target = "PUT https://localhost/api/owner/remote HTTP/1.1";
  const raw = `${target}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{"on":true}`;
  expect((await secure.home.raw(raw)).status).toBe(403);
  const code = secure.home.parts.pairing.start();
  const body = JSON.stringify({ code, name: "phone", passphrase: PASSPHRASE });
  expect((await secure.home.send("POST", "/api/owner/pair", body)).status).toBe(403);
  expect(await opened()).toEqual([false, false, false]);
  expect(secure.home.parts.tokens.list().map(({ name }) => name)).toEqual(["laptop"]);
});

test("where HTTPS is off, the answer is the command that turns it on", async () => {
  await secure.stop();
  secure = await SecureHome.start("off", { port: null });
  const { status, json } = await secure.home.send("PUT", "/api/owner/remote", { on: true });
  expect([status, json.error]).toEqual([403, expect.stringContaining("--https on")]);
});

test("what opens the kill switch asks for the passphrase once more; a wrong one is told and soon refused unread", async () => {
  const token = await owner();
  for (const [path, body] of [
    ["/api/owner/killswitch", { on: false }],
    ["/api/owner/direct", { allowed: true }],
  ] as const) {
    const without = await send("PUT", path, body, token);
    expect([without.status, without.json.error]).toEqual([400, "passphrase is required"]);
    const wrong = await send("PUT", path, { ...body, passphrase: "correct horse" }, token);
    expect([wrong.status, wrong.json.error]).toEqual([403, "passphrase: is wrong; nothing was changed"]);
  }
  const path = "/api/owner/killswitch";
  for (let count = 0; count < 3; count += 1)
    expect((await send("PUT", path, { on: false, passphrase: `guess ${count}` }, token)).status).toBe(403);
  const right = { on: false, passphrase: PASSPHRASE };
  const late = await send("PUT", path, right, token);
  expect([late.status, late.json.error]).toEqual([429, "too many passphrases: try again in a minute"]);
  expect(await opened()).toEqual([false, false, false]);
  expect((await secure.alerts()).filter((each) => each.includes("wrong passphrase"))).toEqual(
    Array(5).fill(
      "A wrong passphrase of the owner came with the token laptop: if that was not you, remove it.",
    ),
  );
  await secure.home.pass(60_000);
  expect((await send("PUT", path, right, token)).status).toBe(200);
  expect(await opened()).toEqual([false, false, true]);
});

test("no restart gives back the tries of a wrong passphrase, nor of one that is still read", async () => {
  const token = await owner();
  const { rootCommands } = secure.home.parts;
  let restarts = 0;
  rootCommands.setUp = async () => void restarts++;
  rootCommands.update = async () => void restarts++;
  const told = { current: "0.1.0", offered: "0.2.0", newer: true, notes: "Faster." };
  rootCommands.checkUpdate = async () => JSON.stringify(told);
  const setting = () => send("PUT", "/api/owner/settings", { auth: "off" }, token);
  const update = () =>
    send("POST", "/api/owner/update", { release: "https://example.org/1/", install: true }, token);
  const turnOff = (passphrase: string) =>
    send("PUT", "/api/owner/killswitch", { on: false, passphrase }, token);
  const statuses = async () => [(await setting()).status, (await update()).status, restarts];
  expect(await statuses()).toEqual([200, 200, 2]);
  expect((await turnOff("a guess of a thief")).status).toBe(403);
  expect(await statuses()).toEqual([429, 429, 2]);
  await secure.home.pass(5 * 60_000);
  expect(await statuses()).toEqual([200, 200, 4]);
  const { verify } = Bun.password;
  let read: number[] = [];
  Bun.password.verify = async (...given: Parameters<typeof verify>) => {
    read = await statuses();
    return verify(...given);
  };
  try {
    expect((await turnOff(PASSPHRASE)).status).toBe(200);
  } finally {
    Bun.password.verify = verify;
  }
  expect(read).toEqual([429, 429, 4]);
  expect(await statuses()).toEqual([200, 200, 6]);
});

test("the passphrase of another owner is not this one's, and one that was removed meanwhile opens nothing", async () => {
  const laptop = await owner();
  const code = secure.home.parts.pairing.start();
  await pair(code, "desk", "another passphrase");
  const body = { on: false, passphrase: "another passphrase" };
  expect((await send("PUT", "/api/owner/killswitch", body, laptop)).status).toBe(403);
  const sent = send("PUT", "/api/owner/killswitch", { on: false, passphrase: PASSPHRASE }, laptop);
  const { tokens } = secure.home.parts;
  const verify = Bun.password.verify;
  Bun.password.verify = async (...given: Parameters<typeof verify>) => {
    await tokens.remove("laptop");
    return verify(...given);
  };
  try {
    expect((await sent).status).toBe(403);
  } finally {
    Bun.password.verify = verify;
  }
  expect(await opened()).toEqual([false, false, false]);
});

test("a code is used once, what is wrong with the rest does not cost it, and five wrong ones raise an alert", async () => {
  const code = secure.home.parts.pairing.start();
  expect((await pair(code, "a/b")).json.error).toBe("name: contains a slash");
  expect((await pair(code, "laptop", "short")).json.error).toStartWith("passphrase: must have at least");
  expect((await pair(code, "one")).status).toBe(200);
  const { status, json } = await pair(code, "two");
  expect([status, json.error]).toEqual([
    403,
    "code: is wrong, was used, or is older than 10 minutes; for another one, on the gateway: sudo portcullis pair",
  ]);
  const next = secure.home.parts.pairing.start();
  for (let count = 0; count < 5; count += 1) await pair("aaaa-aaaa");
  expect((await pair(next)).status).toBe(403);
  expect((await secure.alerts()).at(-1)).toBe(
    "Wrong pairing codes came from 127.0.0.1, so the right one is not valid any more. For another one, on the gateway: sudo portcullis pair",
  );
});

test("an owner makes and removes tokens and takes backups even if no token is asked for; others remove no owner", async () => {
  const token = await owner();
  expect((await send("POST", "/api/backup", { passphrase: PASSPHRASE }, token)).status).toBe(200);
  expect((await send("POST", "/api/backup", { passphrase: PASSPHRASE })).status).toBe(403);
  expect((await send("POST", "/api/tokens", { name: "phone" }, token)).json.owner).toBe(false);
  expect((await send("DELETE", "/api/tokens/phone", undefined, token)).status).toBe(200);
  expect((await send("DELETE", "/api/tokens/laptop", undefined, token)).status).toBe(200);
  expect((await send("PUT", "/api/owner/remote", { on: true }, token)).status).toBe(401);
  await demand("write");
  await owner();
  const phone = (await secure.home.parts.tokens.add("phone", false)).token;
  const refused = await send("DELETE", "/api/tokens/laptop", undefined, phone);
  expect([refused.status, refused.json.error]).toEqual([
    403,
    "only an owner, or root, can remove the token of an owner",
  ]);
  await secure.home.parts.tokens.remove("laptop");
  expect(secure.home.parts.tokens.list().map(({ name }) => name)).toEqual(["phone"]);
});

test("neither code, nor passphrase, nor token gets into logs, events, alerts or lists", async () => {
  const events: string[] = [];
  followMessages(secure.home.parts.events, (event) => void events.push(JSON.stringify(event)));
  const code = secure.home.parts.pairing.start();
  await pair("wrong-code");
  const { token } = (await pair(code)).json;
  await send("PUT", "/api/owner/killswitch", { on: false, passphrase: "wrong words" }, token);
  await send("PUT", "/api/owner/killswitch", { on: false, passphrase: PASSPHRASE }, token);
  const listed = await send("GET", "/api/tokens", undefined, token);
  const texts = [
    ...secure.home.lines,
    ...secure.home.faults,
    ...events,
    listed.text,
    (await send("GET", "/api/events")).text,
    JSON.stringify(secure.home.parts.liveBackup.take()),
  ].join("\n");
  expect(texts).toContain("laptop");
  for (const secret of [
    code,
    code.replace("-", ""),
    PASSPHRASE,
    "wrong words",
    "wrong-code",
    "argon2",
    token,
  ])
    expect(texts).not.toContain(secret);
});

/** A home whose gateway was flashed. */
async function flashed(claim = "open\n"): Promise<void> {
  await secure.stop();
  secure = await SecureHome.start("on", { claim });
}

const claim = (name: string, passphrase = PASSPHRASE) =>
  send("POST", "/api/owner/claim", { name, passphrase });
const claimable = async () => (await send("GET", "/api/owner/claim")).json.claim;

test("the first browser claims a flashed gateway over HTTPS without a code or token, and nobody after it", async () => {
  await flashed();
  expect(await claimable()).toBe("open");
  expect((await claim("laptop", "short")).json.error).toStartWith("passphrase: ");
  expect((await claim("a/b")).status).toBe(400);
  const { status, json } = await claim("laptop");
  expect([status, json.owner, json.token]).toEqual([200, true, expect.stringMatching(TOKEN)]);
  const off = { on: false, passphrase: PASSPHRASE };
  expect((await send("PUT", "/api/owner/killswitch", off, json.token)).json).toEqual({ success: true });
  expect((await claim("phone")).json.error).toStartWith("a browser can claim this gateway once");
  expect(await claimable()).toBe("over");
  expect(await secure.alerts(bearing(json.token))).toContainEqual(expect.stringContaining("laptop"));
});

test("whoever pairs a flashed gateway by its code ends the claim", async () => {
  await flashed();
  await pair(secure.home.parts.pairing.start(), "desk");
  expect(await claimable()).toBe("over");
});

test("over HTTP nobody claims a flashed gateway, nor learns whether it can be claimed", async () => {
  await flashed();
  const body = JSON.stringify({ name: "laptop", passphrase: PASSPHRASE });
  expect((await secure.home.send("POST", "/api/owner/claim", body)).status).toBe(403);
  expect((await secure.home.send("GET", "/api/owner/claim")).status).toBe(403);
  expect(await claimable()).toBe("open");
});

/** Whether this client may read the claim, and make it, where parts of the gateway are as given. */
async function claimFrom(address: string, parts: object = {}): Promise<boolean[]> {
  const request = new Request("https://portcullis/api/owner/claim");
  const asked = { request, params: {}, query: {}, body: { name: "laptop", passphrase: PASSPHRASE } };
  const domain = {
    ...{ ...secure.home.parts, clients: { of: () => "" }, ...parts },
    ...{ gate: { holderOf: () => null }, serverOf: () => ({ requestIP: () => ({ address }) }) },
  } as unknown as Domain;
  const answers = claimRoutes.map(async ({ run }) => run(domain, asked as never));
  return (await Promise.allSettled(answers)).map(({ status }) => status === "fulfilled");
}

test("a gateway is claimed from the home only, and not by a mesh or from remote, whose devices may use its page", async () => {
  await flashed();
  const killSwitch = {
    network: { meshes: [{ prefixes: [cidr("100.64.0.0/10")] }] },
    remote: { devices: [{ addresses: [ip("10.9.8.2"), ip("fd00::2")] }] },
  };
  const tunnels = { killSwitch };
  for (const address of ["100.101.102.103", "::ffff:10.9.8.2", "fd00::2", ""])
    expect([address, await claimFrom(address, { tunnels })]).toEqual([address, [false, false]]);
  expect(await claimable()).toBe("open");
  expect(await claimFrom("fe80::9%lan0", { tunnels })).toEqual([true, true]);
});

test.each(["portFinder", "accessPoint"])(
  "a gateway is not claimed while its %s would keep the token from its owner",
  async (part) => {
    await flashed();
    const assertQuiet = () => {
      throw new Error("not now");
    };
    expect(await claimFrom("192.168.77.10", { [part]: { assertQuiet } })).toEqual([true, false]);
    expect(await claimable()).toBe("open");
    expect(await claimFrom("192.168.77.10")).toEqual([true, true]);
  },
);

test("a gateway that was set up in a terminal cannot be claimed", async () => {
  expect(await claimable()).toBe("none");
  expect((await claim("laptop")).status).toBe(403);
});

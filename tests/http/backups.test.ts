import { afterEach, beforeEach, expect, setDefaultTimeout } from "bun:test";
import type { Contents } from "../../src/backup/contents.ts";
import { encrypted, plain } from "../../src/backup/envelope.ts";
import { REMOTE_DECISION } from "../../src/remote/saved.ts";
import { slow } from "../fast.ts";
import { BODY, PRIVATE } from "../servers/example.ts";
import { bearing, SecureHome, TIMEOUT_MS } from "./secure-home.ts";

const { test } = slow;

setDefaultTimeout(TIMEOUT_MS);

const PASSPHRASE = "six words that nobody knows";
const TV = "02:00:00:00:00:20";
const MAX_BYTES = 1_048_576;

let secure: SecureHome;
let phone: Record<string, string>;
beforeEach(() => homeWith("write"));
afterEach(() => secure.stop());

async function homeWith(auth: "off" | "write"): Promise<void> {
  secure = await SecureHome.start(auth);
  phone = bearing((await secure.home.parts.tokens.add("phone", false)).token);
}

const send = (path: string, body: object, headers = phone) => secure.send("POST", path, body, headers);

/** A backup as it can be written by hand. */
function backupOf(more: Partial<Contents> = {}): object {
  return JSON.parse(plain({ created: "2026-01-02T03:04:05.006Z", servers: [], settings: {}, ...more }));
}

/** Everything that a restore can change. */
const all = () => {
  const { store } = secure.home.parts;
  return { servers: store.servers(), settings: store.settings(), devices: store.devices() };
};

test("a backup is downloaded, and another gateway says all that it changes before it restores it", async () => {
  expect((await send("/api/custom/add", BODY)).status).toBe(200);
  secure.home.parts.store.saveDevice({ id: TV, name: "TV", exit: "blocked" });
  const made = await send("/api/backup", { passphrase: PASSPHRASE });
  expect([made.status, made.json.keys, made.headers.get("cache-control")]).toEqual([
    200,
    "encrypted",
    "no-store",
  ]);
  expect(made.text).not.toContain(PRIVATE);
  expect(await secure.alerts()).toContain("A backup with all keys was downloaded by the token phone.");
  await secure.stop();

  await homeWith("write");
  const given = { backup: made.json, passphrase: PASSPHRASE };
  const before = all();
  const { status, json } = await send("/api/restore/preview", given);
  expect([status, json]).toEqual([
    200,
    {
      created: expect.stringMatching(/^2023-/),
      changes: [
        `device TV (${TV}): new, named TV, exit blocked`,
        `server ${BODY.name} (own): new, 192.0.2.1:51820`,
      ],
      refused: null,
      agreed: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  ]);
  expect(all()).toEqual(before);
  const restored = await send("/api/restore", { ...given, agreed: json.agreed });
  expect(restored.json).toEqual({ servers: 1, replaced: 0, devices: 1, killswitch: "on" });
  expect(secure.home.parts.store.devices()).toEqual([{ id: TV, name: "TV", exit: "blocked" }]);
  expect(secure.home.parts.catalogue.all().map(({ name }) => name)).toContain(BODY.name);
  const alerts = await secure.alerts();
  expect(alerts.at(-1)).toMatch(/^A backup of 2023-.* was restored by the token phone\.$/);
  const told = [...secure.home.lines, ...secure.home.faults, ...alerts].join("\n");
  expect(told).not.toContain(PASSPHRASE);
  expect(told).not.toContain(PRIVATE);
});

test("if anything else would change than was shown, nothing does", async () => {
  const backup = backupOf({ devices: [{ id: TV, name: "TV", exit: "blocked" }] });
  const { agreed } = (await send("/api/restore/preview", { backup })).json;
  secure.home.parts.store.saveDevice({ id: TV, name: "Television", exit: null });
  const before = all();
  for (const wrong of [agreed, "0".repeat(64)]) {
    const { status, json } = await send("/api/restore", { backup, agreed: wrong });
    expect([status, json.error]).toEqual([500, expect.stringContaining("agreed: other things would change")]);
  }
  expect(all()).toEqual(before);
  const again = (await send("/api/restore/preview", { backup })).json;
  expect(again.changes).toEqual([
    `device Television (${TV}): named Television, exit default → named TV, exit blocked`,
  ]);
  expect((await send("/api/restore", { backup, agreed: again.agreed })).status).toBe(200);
});

test("what only root may decide is refused, and a kill switch that was off stays on", async () => {
  const access = REMOTE_DECISION.format({
    ...{ on: true, port: 51_820, endpoint: null, through: null },
    ...JSON.parse('{"ipv4":"10.99.0.0/24","ipv6":"fd00:1:2:3::/64"}'),
  });
  const cases: [Partial<Contents>, string][] = [
    [
      { settings: { direct: "on" }, devices: [{ id: TV, name: null, exit: "direct" }] },
      "leave directly, outside the tunnel",
    ],
    [{ settings: { direct: "on" } }, "leave directly, outside the tunnel"],
    [{ settings: { [REMOTE_DECISION.key]: access } }, "turns remote access on"],
  ];
  for (const [more, error] of cases) {
    const backup = backupOf(more);
    const before = all();
    const preview = await send("/api/restore/preview", { backup });
    expect(preview.json.refused).toContain(
      "only root can restore this, on the gateway: sudo portcullis restore",
    );
    expect(preview.json.refused).toContain(error);
    const { status, json } = await send("/api/restore", { backup, agreed: preview.json.agreed });
    expect([status, json.error]).toEqual([403, preview.json.refused]);
    expect(all()).toEqual(before);
  }
  const backup = backupOf({ settings: { killswitch: "off" } });
  const { refused, agreed } = (await send("/api/restore/preview", { backup })).json;
  expect(refused).toBeNull();
  expect((await send("/api/restore", { backup, agreed })).json.killswitch).toBe("on");
  expect(secure.home.parts.operatorSwitch.isOn).toBe(true);
});

test("while a tunnel is up, the preview says what is in the way", async () => {
  expect((await send("/api/connect", { server: "se-1" })).status).toBe(200);
  const backup = backupOf();
  const { refused, agreed } = (await send("/api/restore/preview", { backup })).json;
  expect(refused).toContain("a tunnel is up or being brought up; disconnect first");
  expect((await send("/api/restore", { backup, agreed })).json.error).toContain("disconnect first");
});

test("what is inside an encrypted backup is parsed as a body is, with the same bounds", async () => {
  const backup = JSON.parse(await encrypted({ servers: Array(70_000).fill(1) }, PASSPHRASE));
  const { status, json } = await send("/api/restore/preview", { backup, passphrase: PASSPHRASE });
  expect([status, json.error]).toEqual([400, "body has too many values"]);
});

test("what is wrong is named, and neither the passphrase nor the backup is repeated", async () => {
  const { json: sealed } = await send("/api/backup", { passphrase: PASSPHRASE });
  const before = all();
  for (const [path, body, error] of [
    ["/api/backup", {}, "passphrase is required"],
    ["/api/backup", { passphrase: "short" }, "passphrase: must have at least 8 characters"],
    ["/api/restore/preview", { passphrase: PASSPHRASE }, "backup is required"],
    ["/api/restore/preview", { backup: {} }, "this is not a Portcullis backup"],
    ["/api/restore/preview", { backup: sealed }, "passphrase is required: the backup is encrypted"],
    ["/api/restore/preview", { backup: sealed, passphrase: "another passphrase" }, "wrong passphrase"],
    ["/api/restore", { backup: backupOf() }, "agreed is required"],
    ["/api/restore", { backup: backupOf(), agreed: "yes" }, "agreed must be"],
  ] as const) {
    const { status, json } = await send(path, body);
    expect({ path, error: json.error, isRefused: status >= 400 }).toEqual({
      ...{ path, isRefused: true },
      error: expect.stringContaining(error),
    });
    expect(json.error).not.toContain(PASSPHRASE);
  }
  expect(all()).toEqual(before);
});

test("an upload has a bound; other bodies keep theirs", async () => {
  const filled = (bytes: number) => ({ backup: { data: "A".repeat(bytes) } });
  const under = await send("/api/restore/preview", filled(MAX_BYTES - 100));
  expect(under.json.error).toContain("this is not a Portcullis backup");
  const over = await send("/api/restore/preview", filled(MAX_BYTES));
  expect([over.status, over.json.error]).toEqual([400, `body is too large: at most ${MAX_BYTES} bytes`]);
  const other = await send("/api/connect", { server: "x".repeat(70_000) });
  expect(other.json.error).toBe("body is too large: at most 65536 bytes");
});

test("one at a time", async () => {
  const [first, second] = await Promise.all([
    send("/api/backup", { passphrase: PASSPHRASE }),
    send("/api/backup", { passphrase: PASSPHRASE }),
  ]);
  expect([first.status, second.status].toSorted()).toEqual([200, 429]);
});

test("while no token is asked for, nobody downloads a backup, and anyone may look at one of theirs", async () => {
  await secure.stop();
  await homeWith("off");
  const { status, json } = await send("/api/backup", { passphrase: PASSPHRASE }, {});
  expect([status, json.error]).toEqual([403, expect.stringContaining("anyone could take the keys")]);
  expect((await send("/api/restore/preview", { backup: backupOf() }, {})).status).toBe(200);
});

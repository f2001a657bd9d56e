import { afterEach, beforeEach, expect } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { slow } from "../fast.ts";
import { BODY } from "../servers/example.ts";
import { Home } from "./home.ts";
import { listenTo } from "./socket.ts";

const { test } = slow;

/** In another city than the managed server, with keys of its own. */
const OWN = {
  ...BODY,
  endpoint: "192.0.2.9:51820",
  private_key: new Uint8Array(32).fill(8).toBase64(),
  location: "Gothenburg, Sweden",
};

let home: Home;
beforeEach(async () => {
  home = await Home.start();
  home.parts.catalogue.addCustom(OWN);
});
afterEach(() => home.stop());

interface Row {
  name: string;
  devices: number;
}

async function send(method: string, path: string, body?: unknown) {
  const { status, json } = await home.send(
    method,
    path,
    body === undefined ? undefined : JSON.stringify(body),
  );
  return { status, ...(json as object) } as { status: number; error?: string };
}

const SE1 = { provider: "managed", server: "se-1" };
const HOME = { provider: "custom", server: OWN.name };
const lead = (name: string, body: object) => send("PUT", `/api/tunnels/${name}`, body);
const rows = async () => (await home.send("GET", "/api/tunnels")).json.tunnels;
/** Returns once a server is dialled. */
async function dialled(endpoint: string): Promise<void> {
  const isDialled = () =>
    [...home.host.links.values()].some(({ device }) => device?.peer?.endpoint === endpoint);
  while (!isDialled()) await Bun.sleep(1);
}
const OK = { status: 200, success: true };
const refused = (status: number, error: string) => ({ status, success: false, error });

test("a tunnel is made and led to a server or a place; the others stay as they are", async () => {
  await home.connect();
  const [main] = await rows();
  expect(await lead("office", HOME)).toEqual(OK);
  expect(await lead("0-tv", { ...HOME, server: "Sweden" })).toEqual(
    refused(
      400,
      "server: the tunnel office leads there with the same key; choose another server, or one with a key of its own",
    ),
  );
  const [same, office, ...others] = await rows();
  expect(same).toEqual({ ...main, uptime_seconds: same.uptime_seconds });
  expect(others).toEqual([]);
  expect(office).toMatchObject({
    ...{ name: "office", provider: "custom", server: OWN.name, wanted: OWN.name, state: "connected" },
    ...{ location: OWN.location, error: null },
  });
  expect((await home.status()).server).toBe("se-1");
});

test("main may be moved by its name too, and the current provider stays", async () => {
  expect(await lead("main", { ...HOME, server: "Sweden" })).toEqual(OK);
  expect((await rows())[0]).toMatchObject({ name: "main", server: OWN.name, wanted: "Sweden" });
  expect(await home.status()).toMatchObject({ provider: "managed", server: OWN.name });
  expect(await send("POST", "/api/tunnels/main/disconnect")).toEqual(OK);
  expect((await home.status()).state).toBe("disconnected");
});

test("without a provider the server is the current one's", async () => {
  expect(await lead("tv", { server: "se-1" })).toEqual(OK);
});

test.each([
  ["TV", "name: must have 1 to 32 of the characters a-z, 0-9 and -"],
  ["a".repeat(33), "name: must have 1 to 32 of the characters a-z, 0-9 and -"],
  ["__proto__", "name: must have 1 to 32 of the characters a-z, 0-9 and -"],
  ["blocked", "name: blocked is reserved; choose another name"],
  ["direct", "name: direct is reserved; choose another name"],
])("the name %s is refused", async (name, error) => {
  expect(await lead(name, SE1)).toEqual(refused(400, error));
  expect(await rows()).toHaveLength(1);
});

test("an unknown server, provider or field is refused, and no tunnel is left behind", async () => {
  expect(await lead("tv", { ...SE1, server: "nowhere" })).toEqual(
    refused(404, "server: there is no server, country or city of this name among the VPN account's servers"),
  );
  expect((await lead("tv", { ...SE1, provider: "other" })).error).toBe(
    "provider must be managed, custom or imported",
  );
  expect((await lead("tv", { ...SE1, sever: "x" })).error).toBe(
    "unknown field sever: the known ones are provider, server, via, transport, targets, back_after_minutes, back_when_quiet, move_when, quantum",
  );
  expect(await rows()).toHaveLength(1);
});

test("a new tunnel that reaches no server leaves nothing in the journal; one that exists does", async () => {
  const told = async (): Promise<string[]> =>
    (await home.send("GET", "/api/events")).json.events
      .filter(({ tunnel }: { tunnel?: string }) => tunnel === "tv")
      .map(({ state }: { state: string }) => state);
  home.host.silent.add("192.0.2.9:51820");
  const leading = lead("tv", HOME);
  await dialled("192.0.2.9:51820");
  await home.pass(30_000);
  expect((await leading).status).toBe(500);
  await lead("main", SE1);
  expect((await lead("tv", SE1)).status).toBe(400);
  expect(await told()).toEqual([]);
  home.host.silent.clear();
  expect(await lead("tv", HOME)).toEqual(OK);
  expect((await home.send("DELETE", "/api/tunnels/tv")).status).toBe(200);
  expect(await told()).toEqual(["connected", "disconnected"]);
});

test("a tunnel whose first server does not answer is removed again; a former server stays", async () => {
  home.host.silent.add("192.0.2.1:51820");
  const leading = lead("tv", SE1);
  await dialled("192.0.2.1:51820");
  expect((await rows())[1]).toMatchObject({ name: "tv", state: "connecting", wanted: "se-1" });
  expect((await home.send("GET", "/api/devices")).json.exits).toEqual(["main", "blocked"]);
  await home.pass(30_000);
  expect((await leading).status).toBe(500);
  expect(await rows()).toHaveLength(1);
  expect([...home.host.links.keys()]).toEqual(["lo", "lan0", "up0"]);
  expect(await lead("tv", HOME)).toEqual(OK);
  const again = lead("tv", SE1);
  await dialled("192.0.2.1:51820");
  await home.pass(30_000);
  expect((await again).status).toBe(500);
  expect((await rows())[1]).toMatchObject({ state: "connected", server: OWN.name, wanted: OWN.name });
});

test("of two requests for a new tunnel the first fails and the second makes it", async () => {
  home.host.silent.add("192.0.2.1:51820");
  const leading = lead("tv", SE1);
  await dialled("192.0.2.1:51820");
  expect(await lead("tv", HOME)).toEqual(OK);
  expect((await leading).error).toBe("interrupted by a connect to home");
  expect((await rows())[1]).toMatchObject({ name: "tv", state: "connected", server: OWN.name });
});

test("a disconnect ends a new tunnel that has not reached its server", async () => {
  home.host.silent.add("192.0.2.1:51820");
  const leading = lead("tv", SE1);
  await dialled("192.0.2.1:51820");
  expect(await send("POST", "/api/tunnels/tv/disconnect")).toEqual(OK);
  expect((await leading).status).toBe(500);
  expect(await rows()).toHaveLength(1);
});

test("a tunnel that is removed and led to a server at once is a new one, or is removed", async () => {
  expect(await lead("tv", HOME)).toEqual(OK);
  await home.pass(1_000);
  const removed = home.again("DELETE", "/api/tunnels/tv");
  const led = home.again("PUT", "/api/tunnels/tv", SE1);
  expect((await removed).status).toBe(200);
  expect((await led).status).toBe(200);
  expect((await rows())[1]).toMatchObject({ name: "tv", state: "connected", server: "se-1" });
});

test("a tunnel's row counts its devices, and the tunnel is not removed while there are any", async () => {
  const device = (body: object) => send("PUT", "/api/devices/02:00:00:00:00:20", body);
  expect(await lead("tv", HOME)).toEqual(OK);
  expect(await device({ name: "TV", exit: "tv" })).toEqual(OK);
  expect(await send("PUT", "/api/devices/02:00:00:00:00:30", { name: "Phone" })).toEqual(OK);
  const counts = async () => (await rows()).map(({ name, devices }: Row) => [name, devices]);
  expect(await counts()).toEqual([
    ["main", 1],
    ["tv", 1],
  ]);
  expect((await home.send("GET", "/api/devices")).json.exits).toEqual(["main", "tv", "blocked"]);
  expect(await send("DELETE", "/api/tunnels/tv")).toEqual(
    refused(400, "name: tv is the exit of TV (02:00:00:00:00:20); choose another exit for them first"),
  );
  expect(await send("PUT", "/api/default-exit", { exit: "tv" })).toEqual(OK);
  expect(await device({ exit: "blocked" })).toEqual(OK);
  expect(await send("DELETE", "/api/tunnels/tv")).toEqual(
    refused(400, "name: tv is the default exit; choose another one first: portcullis default-exit main"),
  );
  expect(await send("PUT", "/api/default-exit", { exit: "main" })).toEqual(OK);
  expect(await send("DELETE", "/api/tunnels/tv")).toEqual(OK);
  expect(await counts()).toEqual([["main", 1]]);
});

test("there are at most eight tunnels", async () => {
  for (let number = 1; number < 8; number++) await home.parts.tunnels.opened(`tunnel-${number}`);
  expect(await lead("ninth", SE1)).toEqual(
    refused(400, "name: there are 8 tunnels, the maximum; remove one first"),
  );
  expect(await send("DELETE", "/api/tunnels/tunnel-3")).toEqual(OK);
  expect(await lead("ninth", SE1)).toEqual(OK);
  expect((await rows()).map(({ name }: { name: string }) => name)).toEqual([
    ...["main", "ninth", "tunnel-1", "tunnel-2", "tunnel-4", "tunnel-5", "tunnel-6", "tunnel-7"],
  ]);
});

test("a server that any tunnel uses cannot be removed", async () => {
  expect(await lead("office", HOME)).toEqual(OK);
  const remove = () => send("DELETE", `/api/custom/remove/${OWN.name}`);
  expect(await remove()).toEqual(refused(400, "name: the tunnel office uses this server; disconnect first"));
  expect(await send("POST", "/api/tunnels/office/disconnect")).toEqual(OK);
  expect(await remove()).toEqual(OK);
});

test("main cannot be removed, and an unknown tunnel neither removed nor disconnected", async () => {
  expect(await send("DELETE", "/api/tunnels/main")).toEqual(
    refused(400, "name: the main tunnel cannot be removed"),
  );
  const unknown = refused(404, "name: there is no tunnel of this name");
  expect(await send("DELETE", "/api/tunnels/constructor")).toEqual(unknown);
  expect(await send("POST", "/api/tunnels/TV/disconnect")).toEqual(unknown);
});

test("listeners hear of a tunnel that is removed, and of the number of each tunnel's devices", async () => {
  expect(await lead("tv", HOME)).toEqual(OK);
  const listener = await listenTo(home.port);
  const TV = "/api/devices/02:00:00:00:00:20";
  expect(await send("PUT", TV, { exit: "tv" })).toEqual(OK);
  await home.pass(1_000);
  const counted = (name: string, devices: number) => ({ type: "tunnel_update", payload: { name, devices } });
  const moved = (exit: string) => ({ type: "device_update", payload: { exit } });
  expect((await listener.received(3)).slice(1)).toMatchObject([moved("tv"), counted("tv", 1)]);
  expect(await send("PUT", TV, { exit: "main" })).toEqual(OK);
  await home.pass(1_000);
  expect((await listener.received(6)).slice(3)).toMatchObject([
    moved("main"),
    counted("main", 1),
    counted("tv", 0),
  ]);
  expect(await send("DELETE", "/api/tunnels/tv")).toEqual(OK);
  expect((await listener.received(8)).slice(6)).toMatchObject([
    { type: "tunnel_update", payload: { name: "tv", state: "disconnected" } },
    { type: "tunnel_removed", payload: { name: "tv" } },
  ]);
});

test("on a full disk a disconnect and a removal take effect, and say that a restart would undo them", async () => {
  await home.connect();
  await lead("amsterdam", HOME);
  const { atomically } = home.parts.store;
  home.parts.store.atomically = () => {
    throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
  };
  const undone = { status: 500, error: expect.stringContaining("a restart would lose the changes") };
  expect(await send("POST", "/api/disconnect")).toMatchObject(undone);
  expect(await send("DELETE", "/api/tunnels/amsterdam")).toMatchObject(undone);
  const listed = (await send("GET", "/api/tunnels")) as unknown as { tunnels: object[] };
  expect(listed.tunnels).toMatchObject([{ name: "main", state: "disconnected" }]);
  home.parts.store.atomically = atomically;
  expect(await send("POST", "/api/disconnect")).toMatchObject({ status: 200 });
  expect(home.parts.savedState.trouble).toBeNull();
});

import type { Database } from "bun:sqlite";
import { describe, expect, spyOn, test } from "bun:test";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, stoodAlways, THREE, TWO } from "./gateway.ts";

const TROUBLE =
  "The database could not be written: the state directory is read-only. The gateway works without it, but a restart would lose the changes made meanwhile; it keeps trying to save them.";

/** Whether the database takes what is written. */
function disk(gateway: Gateway, takes: "all" | "nothing"): void {
  const { database } = gateway.store as unknown as { database: Database };
  database.run(`PRAGMA query_only = ${takes === "all" ? "OFF" : "ON"}`);
}

describe("on a disk that takes nothing", () => {
  test("the gateway connects, reconnects and disconnects, which a restart would undo; it is told once, and saved as soon as it can be", () =>
    inDirectory(async (directory) => {
      const gateway = await Gateway.started(directory);
      const { controller, savedState, alerts } = gateway;
      await controller.connect(ONE);
      disk(gateway, "nothing");
      await controller.connect(TWO);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
      controller.lost("the server is silent");
      await controller.redial(TWO, new AbortController().signal);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
      await expect(controller.disconnect()).rejects.toMatchObject({
        code: "storage_full",
        message: TROUBLE,
      });
      expect(await gateway.status()).toMatchObject({ state: "disconnected", killswitch_active: true });
      expect([savedState.trouble, alerts]).toEqual([TROUBLE, ["state_not_saved"]]);
      expect(savedState.connection()).toBeNull();
      expect(gateway.store.read("connection")).toContain('"one"');

      const stopping = new AbortController();
      void savedState.keepSaving(gateway.host, stopping.signal);
      disk(gateway, "all");
      gateway.host.patient = true;
      await gateway.host.pass(6_000);
      stopping.abort();
      expect([savedState.trouble, alerts]).toEqual([null, ["state_not_saved", "state_saved"]]);
      expect(gateway.store.read("connection")).toBe("null");
      await gateway.restart();
      expect((await gateway.status()).state).toBe("disconnected");
      expect(stoodAlways(gateway.host)).toBe(true);
    }));

  test("the last known address of a name serves, though it was never saved", () =>
    inDirectory(async (directory) => {
      const gateway = await Gateway.started(directory);
      disk(gateway, "nothing");
      gateway.savedState.saveAddress("vpn.example.net", ip("192.0.2.9"));
      expect(gateway.savedState.address("vpn.example.net")).toBe(ip("192.0.2.9"));
      disk(gateway, "all");
      gateway.savedState.save();
      expect(gateway.store.read("address vpn.example.net")).toBe("192.0.2.9");
    }));

  test("the kill switch is not taken down, for a restart would bring it back unasked", () =>
    inDirectory(async (directory) => {
      const gateway = await Gateway.started(directory);
      disk(gateway, "nothing");
      const refusal = "The database could not be written: the state directory is read-only.";
      await expect(gateway.operatorSwitch.turn(false)).rejects.toMatchObject({
        code: "storage_full",
        message: refusal,
      });
      expect((await gateway.status()).killswitch_active).toBe(true);
      expect([gateway.operatorSwitch.isOn, gateway.savedState.trouble]).toEqual([true, null]);
    }));

  test("the kill switch is put in place all the same, and the operator hears that a restart would undo it", () =>
    inDirectory(async (directory) => {
      const gateway = await Gateway.started(directory);
      await gateway.operatorSwitch.turn(false);
      expect((await gateway.status()).killswitch_active).toBe(false);
      disk(gateway, "nothing");
      await expect(gateway.operatorSwitch.turn(true)).rejects.toMatchObject({
        code: "storage_full",
        message: TROUBLE,
      });
      expect((await gateway.status()).killswitch_active).toBe(true);
      disk(gateway, "all");
      gateway.savedState.save();
      await gateway.restart();
      expect((await gateway.status()).killswitch_active).toBe(true);
    }));
});

test("the last servers of main are known after a restart, and cost no write of their own", () =>
  inDirectory(async (directory) => {
    const gateway = await Gateway.started(directory);
    expect(gateway.savedState.recent()).toEqual([]);
    await gateway.controller.connect(ONE);
    const saves = spyOn(gateway.store, "atomically");
    await gateway.controller.connect(TWO);
    expect(saves).toHaveBeenCalledTimes(1);
    await gateway.controller.disconnect();
    const recent = gateway.savedState.recent();
    expect(recent.map(({ name }) => name)).toEqual(["two", "one"]);
    await gateway.restart();
    expect(gateway.savedState.recent()).toEqual(recent);
    for (const entry of ['{"provider":"custom"}', '{"provider":"custom","name":"x","since":1e300}']) {
      gateway.store.write("recent", `[${entry}]`);
      gateway.savedState.reload();
      expect(gateway.savedState.recent()).toEqual([]);
    }
  }));

test("where each tunnel led last is known after a kill, and costs no write of its own", () =>
  inDirectory(async (directory) => {
    const gateway = await Gateway.started(directory);
    const lastOf = (name: string) => gateway.savedState.last(name)?.targets.map(({ server }) => server);
    await gateway.controller.connect(TWO);
    const saves = spyOn(gateway.store, "atomically");
    await gateway.controller.connect([ONE, TWO], undefined, { back_after_minutes: 5, move_when: ["slow"] });
    expect(saves).toHaveBeenCalledTimes(1);
    const tv = await gateway.tunnels.opened("tv");
    await tv.controller.connect(THREE);
    await tv.controller.disconnect();
    await gateway.restart();
    expect([lastOf("main"), lastOf("tv"), lastOf("constructor")]).toEqual([
      ["one", "two"],
      ["three"],
      undefined,
    ]);
    await gateway.controller.disconnect();
    await gateway.restart();
    expect(gateway.savedState.last("main")).toEqual({
      targets: ["one", "two"].map((server) => ({ provider: "custom", server })),
      ...{ back_after_minutes: 5, move_when: ["slow"] },
    });
    await gateway.tunnels.remove("tv");
    expect([...gateway.savedState.lasts().keys()]).toEqual(["main"]);
    for (const damaged of ["", "[]", '{"main":{"targets":[]}}', '{"main":{"targets":[{"server":"x"}]}}']) {
      gateway.store.write("last_targets", damaged);
      gateway.savedState.reload();
      expect(gateway.savedState.last("main")).toBeNull();
    }
  }));

test("where a restored connection leads is where its tunnel led last, not where it led before", () =>
  inDirectory(async (directory) => {
    const gateway = await Gateway.started(directory);
    const lastOf = () => gateway.savedState.last("main")?.targets.map(({ server }) => server);
    await gateway.controller.connect(TWO);
    const connection = gateway.store.read("connection") ?? "";
    await gateway.controller.connect(ONE);
    await gateway.controller.disconnect();
    expect(lastOf()).toEqual(["one"]);
    gateway.store.write("connection", connection);
    gateway.savedState.reload();
    expect(lastOf()).toEqual(["two"]);
    gateway.savedState.saveConnection(null);
    expect(lastOf()).toEqual(["two"]);
  }));

test("a tunnel whose removal the kernel refuses keeps where it led last", () =>
  inDirectory(async (directory) => {
    const gateway = await Gateway.started(directory);
    const tv = await gateway.tunnels.opened("tv");
    await tv.controller.connect(TWO);
    const last = gateway.savedState.last("tv");
    const { host } = gateway;
    host.fails = (count) => (host.commands[count - 1] === "ip link del dev wg2" ? "before" : null);
    await expect(gateway.tunnels.remove("tv")).rejects.toThrow("made to fail");
    expect(gateway.savedState.last("tv")).toEqual(last);
  }));

slow.test("of the addresses of names the latest thousand are remembered", () =>
  inDirectory(async (directory) => {
    const { savedState, store } = await Gateway.started(directory);
    for (let at = 0; at < 1_003; at++) savedState.saveAddress(`vpn${at}.example.net`, ip("192.0.2.9"));
    const known = Object.keys(store.settings()).filter((key) => key.startsWith("address "));
    expect(known).toHaveLength(1_000);
    expect([2, 3, 1_002].map((at) => savedState.address(`vpn${at}.example.net`))).toEqual([
      null,
      ip("192.0.2.9"),
      ip("192.0.2.9"),
    ]);
  }),
);

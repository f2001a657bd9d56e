import { expect, test } from "bun:test";
import { slotOf } from "../../src/network/slot.ts";
import { Resolver } from "../../src/tunnel/resolver.ts";
import { sessionFor } from "../../src/tunnel/session.ts";
import { ip, ips } from "../fake/address.ts";
import { CONFIG, SERVER } from "../servers/example.ts";
import { inDirectory } from "./directory.ts";
import { Gateway } from "./gateway.ts";

const INSIDE = { inside: true } as const;

test("a lookup leaves nothing on the signal that may end it, which lives as long as the wish", () =>
  inDirectory(async (directory) => {
    const { host, savedState, tunnels } = await Gateway.started(directory);
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    host.names.set("vpn.example", ["192.0.2.1"]);
    const log = { info: () => {}, warn: () => {} };
    const names = new Resolver({ host, savedState, killSwitch: tunnels.killSwitch, log });
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (type: string, listener: () => void, options?: AddEventListenerOptions) => {
      listeners.add(listener);
      addEventListener.call(signal, type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: () => void) => {
      listeners.delete(listener);
      removeEventListener.call(signal, type, listener);
    };
    expect(await names.resolve("vpn.example", INSIDE, signal)).toEqual([ip("192.0.2.1")]);
    await expect(names.resolve("nowhere.example", INSIDE, signal)).rejects.toThrow("no resolver answered");
    expect(listeners.size).toBe(0);
  }));

test("a lookup ends with the signal's reason where that comes first", () =>
  inDirectory(async (directory) => {
    const { host, savedState, tunnels } = await Gateway.started(directory);
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    host.lookup = () => Promise.withResolvers<never>().promise;
    const log = { info: () => {}, warn: () => {} };
    const names = new Resolver({ host, savedState, killSwitch: tunnels.killSwitch, log });
    const wish = new AbortController();
    const asked = names.resolve("vpn.example", INSIDE, wish.signal);
    wish.abort(new Error("another wish"));
    await expect(asked).rejects.toThrow("another wish");
    await expect(names.resolve("vpn.example", INSIDE, wish.signal)).rejects.toThrow("another wish");
  }));

test("inside a tunnel with several resolvers, all of them are asked: a query to any other is led to the first", () =>
  inDirectory(async (directory) => {
    const { host, savedState, tunnels } = await Gateway.started(directory);
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    const asked: (readonly string[])[] = [];
    host.lookup = async (_: string, resolvers: readonly string[] = []) => {
      asked.push(resolvers);
      return ["192.0.2.1"];
    };
    const log = { info: () => {}, warn: () => {} };
    const names = new Resolver({ host, savedState, killSwitch: tunnels.killSwitch, log });
    const { signal } = new AbortController();
    const endpoint = { address: ip("192.0.2.1"), port: 51820 };
    for (const dns of [ips("10.64.0.1", "10.64.0.2"), ips("10.64.0.1"), []]) {
      const config = { ...CONFIG, interface: { ...CONFIG.interface, dns } };
      const session = sessionFor(slotOf(0, "wg"), { ...SERVER, config }, endpoint, null);
      await names.resolve("lists.example", { inside: true, session }, signal);
    }
    expect(asked).toEqual([["10.64.0.1", "10.64.0.2"], ["192.168.7.254"], ["192.168.7.254"]]);
  }));

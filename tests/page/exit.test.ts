import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Device } from "../../src/devices/schema.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  isNetwork: (device: Partial<Device>) => boolean;
  isOfMesh: (device: Partial<Device>, meshes: readonly string[]) => boolean;
  isRemote: (device: Partial<Device>) => boolean;
  exitOf: (exit: string, tunnels: readonly object[] | null, isOff: boolean) => { tone: string; text: string };
}

const page: Page = await import(join(import.meta.dir, "../../src/dashboard/exit.ts"));

test("a remote device is a device, although its id is a prefix, and not a network behind a router", () => {
  const of = (device: Partial<Device>) => [page.isNetwork(device), page.isRemote(device)];
  expect(of({ id: "02:00:00:00:00:10" })).toEqual([false, false]);
  expect(of({ id: "192.168.9.0/24" })).toEqual([true, false]);
  expect(of({ id: "10.200.7.2/32", kind: "remote" })).toEqual([false, true]);
});

test("what comes by a mesh is among the devices, also while the mesh is gone, and not a network behind a router", () => {
  const of = (id: string, link: string | null) => page.isOfMesh({ id, interface: link }, ["tailscale0"]);
  expect([of("100.64.0.11/32", "tailscale0"), of("fd7a::11/128", "tailscale0")]).toEqual([true, true]);
  expect([of("100.127.0.11/32", null), of("10.8.0.0/24", "lan0"), of("10.8.0.0/24", null)]).toEqual([
    ...[true, false, false],
  ]);
});

test("before the tunnels are known, nothing is said of what they do; a moving one does what its former server does", () => {
  const said = (...given: Parameters<Page["exitOf"]>) => {
    const { tone, text } = page.exitOf(...given);
    return `${tone}: ${text}`;
  };
  expect(said("main", null, false)).toBe("unknown: main · not known");
  expect(said("blocked", null, false)).toBe("blocked: blocked · no internet");
  const moving = { name: "main", state: "connecting", server: "", location: "", unanswered: false };
  expect(said("main", [moving], false)).toBe("blocked: main · connecting");
  const carrying = { server: "se-1", location: "Stockholm, Sweden" };
  expect(said("main", [{ ...moving, carrying }], false)).toBe("protected: main · Stockholm, Sweden");
});

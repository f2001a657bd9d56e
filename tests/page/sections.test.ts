import { expect, test } from "bun:test";
import { join } from "node:path";

interface Device {
  id: string;
  online: boolean;
  exit: string;
  group?: string;
}
type Told = { placeOf: (device: Device) => Device; exitText: (exit: string) => string };

const {
  sectionsOf,
}: {
  sectionsOf: (devices: Device[], by: string, told: Told) => { title: string; devices: Device[] }[];
} = await import(join(import.meta.dir, "../../src/dashboard/views/devices/sections.ts"));

const TV = { id: "tv", online: true, exit: "amsterdam", group: "Living room" };
const LAPTOP = { id: "laptop", online: true, exit: "main" };
const CAMERA = { id: "camera", online: false, exit: "main", group: "Hall" };

function sections(by: string, placeOf: Told["placeOf"] = (device) => device): [string, string[]][] {
  const found = sectionsOf([LAPTOP, CAMERA, TV], by, { placeOf, exitText: (exit) => exit });
  return found.map(({ title, devices }) => [title, devices.map(({ id }) => id)]);
}

test("devices stand together by whether they are online, by exit, or by person and room, and those without one last", () => {
  expect(sections("online")).toEqual([
    ["Online", ["laptop", "tv"]],
    ["Not online", ["camera"]],
  ]);
  expect(sections("exit")).toEqual([
    ["amsterdam", ["tv"]],
    ["main", ["laptop", "camera"]],
  ]);
  expect(sections("group")).toEqual([
    ["Hall", ["camera"]],
    ["Living room", ["tv"]],
    ["Without a group", ["laptop"]],
  ]);
});

test("while someone is at its row, a device that gets another exit stays where it was", () => {
  const held = (device: Device) => (device.id === "tv" ? { ...TV, exit: "main" } : device);
  expect(sections("exit", held)).toEqual([["main", ["laptop", "camera", "tv"]]]);
});

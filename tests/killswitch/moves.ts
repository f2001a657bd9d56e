// Moves a device to an exit and back while no nft ends that has moved it, so that only the kernel's report can show that
// a move is done. Prints the devices with that exit after each move, and how often the whole table was loaded.
import { chainsListed, elementsOf } from "../../src/killswitch/listing.ts";
import { LoadedTable } from "../../src/killswitch/loaded-table.ts";
import { OwnChanges } from "../../src/killswitch/own-changes.ts";
import { rulesetOf, TABLE } from "../../src/killswitch/ruleset.ts";
import { listTable } from "../../src/killswitch/table.ts";
import { type KernelEvent, watchKernel } from "../../src/network/kernel-events.ts";
import type { Host } from "../../src/system/host.ts";
import { assigned, POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const DEVICE = "02:00:00:00:00:01";

await inNamespace(async (real) => {
  const { signal, abort } = abortable();
  let loads = 0;
  let isWatching = false;
  const host = Object.assign(Object.create(real), {
    run: (...[argv, options]: Parameters<Host["run"]>) => {
      if (argv.includes("-e")) loads += 1;
      if (options?.done === undefined) return real.run(argv, options);
      return real.run(["sh", "-c", '"$@" && exec sleep 600', "sh", ...argv], { ...options, signal });
    },
  }) as Host;
  const ownChanges = new OwnChanges(host);
  const listener = {
    onEvent: ({ of, ...event }: KernelEvent) => {
      if (of === "other firewalls" && "missed" in event && !event.missed) isWatching = true;
    },
    onWatching: () => {},
    onCommit: (changes: readonly string[]) => ownChanges.committed(changes),
  };
  watchKernel(
    host,
    { links: [], routingTables: [], lanLinks: () => [], firewallTables: [TABLE] },
    listener,
    signal,
  );
  for (let mark = 0; !isWatching; mark += 1) {
    await real.run(["nft", "add", "table", "inet", `mark${mark}`]);
    await Bun.sleep(20);
  }
  const table = new LoadedTable(host, ownChanges, () => {});
  const { devices } = POLICIES;
  const others = devices.devices.filter(({ id }) => id !== DEVICE);
  for (const exit of ["main", "amsterdam", "main"]) {
    const moved = [...others, assigned(DEVICE, exit)];
    await table.load(rulesetOf({ ...devices, devices: moved }));
    console.log(elementsOf("on_amsterdam", chainsListed((await listTable(real)) ?? "")).join(" "));
  }
  console.log(`loads: ${loads}`);
  abort();
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

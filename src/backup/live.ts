import { takeUpAccount } from "../account/live.ts";
import { GatewayError } from "../errors.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Store } from "../servers/store.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import type { Controller } from "../tunnel/controller.ts";
import type { Memory } from "../tunnel/memory.ts";
import { type Contents, checkedContents, contentsOf } from "./contents.ts";
import { type Permissions, type Restored, restoreInto } from "./restore.ts";

interface Parts {
  store: Store;
  catalogue: Catalogue;
  controller: Controller;
  memory: Memory;
  settings: Settings;
  host: Pick<Host, "now" | "read">;
}

/** Backup and restore while the service runs. */
export interface LiveBackup {
  take(): Contents;
  restore(contents: unknown, may: Permissions): Promise<Restored>;
}

export function liveBackup(parts: Parts): LiveBackup {
  const { store, catalogue, controller, memory, host } = parts;
  return {
    take: () => contentsOf(store, host.now()),
    restore: async (contents, may) => {
      const checked = checkedContents(contents);
      // The tunnel must not lose the server that it was made of, nor the memory of it.
      if (!["disconnected", "failed"].includes(controller.state.name))
        throw new GatewayError("unable", "there is a tunnel; disconnect first: portcullis disconnect");
      const before = memory.killSwitch();
      // What waits to be saved would be written over what is restored.
      memory.save();
      memory.assertSaved();
      const restored = restoreInto(store, checked, may);
      memory.reload();
      catalogue.reload();
      await takeUpAccount(parts);
      if (memory.killSwitch() !== before) await controller.setKillSwitch(memory.killSwitch());
      return restored;
    },
  };
}

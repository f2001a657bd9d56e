import type { Devices } from "../devices/devices.ts";
import { GatewayError } from "../errors.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { Controller } from "../tunnel/controller.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import { type Contents, checkedContents, contentsOf } from "./contents.ts";
import { type Permissions, type Restored, restoreInto } from "./restore.ts";

interface Deps {
  store: Store;
  catalogue: Catalogue;
  controller: Controller;
  savedState: SavedState;
  host: Pick<Host, "now">;
  /** Makes managed servers use the account in the store. */
  takeUpAccount: () => Promise<void>;
  devices: Pick<Devices, "load">;
}

/** Backup and restore while the service runs. */
export interface LiveBackup {
  take(): Contents;
  restore(contents: unknown, may: Permissions): Promise<Restored>;
}

export function liveBackup(deps: Deps): LiveBackup {
  const { store, catalogue, controller, savedState, host, takeUpAccount, devices } = deps;
  return {
    take: () => contentsOf(store, host.now()),
    restore: async (contents, may) => {
      const checked = await checkedContents(contents);
      // The tunnel must not lose the server that it was made of, nor the memory of it.
      if (!["disconnected", "failed"].includes(controller.state.name))
        throw new GatewayError(
          "unable",
          "a tunnel is up or being brought up; disconnect first: portcullis disconnect",
        );
      const before = savedState.killSwitchWanted();
      // State that is still unsaved would later overwrite what is restored.
      savedState.save();
      savedState.assertSaved();
      const restored = restoreInto(store, checked, may);
      savedState.reload();
      catalogue.reload();
      await takeUpAccount();
      await devices.load();
      if (savedState.killSwitchWanted() !== before)
        await controller.setKillSwitch(savedState.killSwitchWanted());
      return restored;
    },
  };
}

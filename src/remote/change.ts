import { Unsaved } from "../base/errors.ts";
import type { RemoteDevices } from "./devices.ts";
import type { Access, RemotePeer } from "./saved.ts";

interface Deps {
  remote: RemoteDevices;
  /** Makes the interface as the decisions want it. */
  settle: () => Promise<void>;
  /** To be called after each change, and after each that failed. */
  onChange: () => void;
}

/** Puts changes of the decisions in force, and into the database. */
export class RemoteChanges {
  /** Whether something closed that could not be saved. */
  isUnsaved = false;

  constructor(private readonly deps: Deps) {}

  /** What opens must be saved first. */
  async open(access: Access, peers: readonly RemotePeer[]): Promise<void> {
    const { remote, settle, onChange } = this.deps;
    const before = { access: remote.access, peers: remote.peers };
    this.save(access, peers);
    try {
      await remote.set(access, peers);
      await settle();
    } catch (error) {
      this.save(before.access, before.peers);
      await remote.set(before.access, before.peers).catch(() => {});
      await settle().catch(() => {});
      throw error;
    } finally {
      onChange();
    }
  }

  /** What only closes takes effect even if it cannot be saved, and is saved even if the interface cannot be told. */
  async close(access: Access | null, peers: readonly RemotePeer[]): Promise<void> {
    const { remote, settle, onChange } = this.deps;
    try {
      await remote.set(access, peers);
      await settle();
    } catch (error) {
      this.save(access, peers);
      throw error;
    } finally {
      onChange();
    }
    try {
      this.save(access, peers);
    } catch (error) {
      this.isUnsaved = true;
      throw new Unsaved(error);
    }
  }

  private save(access: Access | null, peers: readonly RemotePeer[]): void {
    this.deps.remote.save(access, peers);
    this.isUnsaved = false;
  }
}

import type { DeviceId } from "../devices/id.ts";

/** More than a household has. Anyone on the LAN can invent devices: the one that has asked nothing for longest makes room. */
const MAX_DEVICES = 256;

/** What a device has asked. */
export interface DeviceCount {
  asked: number;
  blocked: number;
}

/** What each device has asked since the start, in numbers and without names. */
export class DeviceCounts {
  /** The latest to ask is the last. */
  private readonly byDevice = new Map<DeviceId, DeviceCount>();

  asked(device: DeviceId): void {
    const count = this.byDevice.get(device) ?? { asked: 0, blocked: 0 };
    count.asked += 1;
    this.byDevice.delete(device);
    this.byDevice.set(device, count);
    if (this.byDevice.size <= MAX_DEVICES) return;
    const [oldest = device] = this.byDevice.keys();
    this.byDevice.delete(oldest);
  }

  blocked(device: DeviceId): void {
    const count = this.byDevice.get(device);
    if (count !== undefined) count.blocked += 1;
  }

  of(device: DeviceId): DeviceCount {
    return this.byDevice.get(device) ?? { asked: 0, blocked: 0 };
  }

  /** Those that have asked most come first. */
  all(): (DeviceCount & { id: DeviceId })[] {
    return [...this.byDevice]
      .map(([id, count]) => ({ id, ...count }))
      .sort((one, other) => other.asked - one.asked);
  }
}

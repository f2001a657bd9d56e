import type { DeviceId } from "../devices/id.ts";

interface Bounds {
  /** For all devices together. */
  all: number;
  ofDevice: number;
  /** What each device gets, even if others have taken all. */
  own: number;
}

/** Places of which each device has its share, so that none of them holds up the others. */
export class Shares {
  private readonly taken = new Map<DeviceId, number>();
  private total = 0;

  constructor(private readonly bounds: Bounds) {}

  /** False if there is none for this device. */
  take(device: DeviceId): boolean {
    const { all, ofDevice, own } = this.bounds;
    const count = this.taken.get(device) ?? 0;
    if (count >= ofDevice || (this.total >= all && count >= own)) return false;
    this.taken.set(device, count + 1);
    this.total += 1;
    return true;
  }

  giveBack(device: DeviceId): void {
    const count = (this.taken.get(device) ?? 1) - 1;
    if (count === 0) this.taken.delete(device);
    else this.taken.set(device, count);
    this.total -= 1;
  }

  /** All are free again. */
  clear(): void {
    this.taken.clear();
    this.total = 0;
  }
}

import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  unable: {
    dhcp_flood:
      "{link} carries too many DHCP replies to tell whether another server answers; find the machine that sends them, and unplug it",
    queue_unsupported:
      "This kernel has no CAKE, which shares the line among devices: it needs the module sch_cake, which the kernels of Debian and Raspberry Pi OS have.",
    queue_foreign:
      "{link} has a queue of another program ({kind} {handle}). Remove it first: tc qdisc delete dev {link} root",
  },
  kernel_refused: { table_not_listed: "the kernel does not list {table} as it was given" },
});

import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  dhcp_flood: {
    code: "unable",
    text: "{link} carries too many DHCP replies to tell whether another server answers; find the machine that sends them, and unplug it",
  },
  table_not_listed: {
    code: "kernel_refused",
    text: "the kernel does not list {table} as it was given",
  },
  queue_unsupported: {
    code: "unable",
    text: "This kernel has no CAKE, which shares the line among devices: it needs the module sch_cake, which the kernels of Debian and Raspberry Pi OS have.",
  },
  queue_foreign: {
    code: "unable",
    text: "{link} has a queue of another program ({kind} {handle}). Remove it first: tc qdisc delete dev {link} root",
  },
});

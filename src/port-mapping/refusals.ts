import { refusals } from "../base/refusals.ts";

const NO_NAT_PMP =
  "With Proton, make the key with NAT-PMP on, for a P2P server; other providers may forward no ports";

export const refused = refusals({
  unable: {
    nat_pmp_without_ipv4: "NAT-PMP needs a tunnel with an IPv4 address; use another server",
    nat_pmp_silent: `{address} does not answer. ${NO_NAT_PMP}`,
    nat_pmp_closed: `{address} has no NAT-PMP. ${NO_NAT_PMP}`,
    nat_pmp_refused: `{address} opens no ports for this key. ${NO_NAT_PMP}`,
    nat_pmp_down: "{address} opens no ports now: its own network is down",
    nat_pmp_exhausted: "{address} opens no more ports for this key; remove one that you do not need",
    nat_pmp_failed: "{address} opens no port (NAT-PMP result {result})",
    nat_pmp_untrue: "{address} opened no port, although it says so",
    home_router_refused: "the home router {router} forwards no port by itself ({reason})",
  },
});

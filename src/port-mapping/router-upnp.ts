import type { RouterProtocol } from "./router-protocol.ts";

/** UPnP (InternetGatewayDevice). For IPv6 it has another service, which routers offer to programs of the same address only. */
export const ROUTER_UPNP: RouterProtocol = {
  title: "UPnP",
  families: [4],
  async map(request, lifetime, { upnp, forbid, signal }) {
    const { external } = request;
    try {
      if (lifetime > 0) return { lifetime, epoch: null, ...(await upnp.open(request, lifetime, signal)) };
      await upnp.close(request, signal);
      return { external, address: null, lifetime, epoch: null };
    } finally {
      await forbid();
    }
  },
};

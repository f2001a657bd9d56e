/** What a router does otherwise than the standard has it. All of it has been seen in homes. */
export interface Oddity {
  /** The only search that it answers. */
  answers?: "group" | "everything";
  /** What stands before its own description. */
  beside?: "media server";
  /** What it takes for its own address. */
  calls?: string;
  newline?: "\n";
  /** Its services by control URL: the type of each, and the state of its line. */
  services?: Readonly<Record<string, { type: string; status: string }>>;
  /** Written around its services. */
  description?: (services: string) => string;
  /** What it answers to a lease; one without an end is granted. */
  lease?: number | "no code";
  /** What it answers while the port belongs to another computer. */
  taken?: number;
  /** It does not renew its own mappings. */
  neverRenews?: true;
  /** The outer port must be the inner one. */
  samePort?: true;
  /** Ports are for it to pick. */
  picks?: true;
  /** It answers refusals with status 200. */
  politeRefusals?: true;
  /** It does not tell its address. */
  keepsAddress?: true;
}

const WAN_IP = "urn:schemas-upnp-org:service:WANIPConnection:1";
const WAN_PPP = "urn:schemas-upnp-org:service:WANPPPConnection:1";
const up = (type: string) => ({ type, status: "Connected" });

export const ODD_ROUTERS: Readonly<Record<string, Oddity>> = {
  "answers the group only": { answers: "group" },
  "answers a search for everything only": { answers: "everything" },
  "has a media server beside it": { beside: "media server", answers: "everything" },
  "names an address that it had before": { calls: "10.0.0.138" },
  "names itself": { calls: "router.home.arpa" },
  "ends lines as Unix does": { newline: "\n" },
  "has two lines, of which the first is down": {
    services: { "/1": { type: WAN_IP, status: "Disconnected" }, "/2": { type: WAN_IP, status: "Up" } },
  },
  "has a service for IP that is not used, and PPP": {
    services: { "/1": { type: WAN_IP, status: "Unconfigured" }, "/2": up(WAN_PPP) },
  },
  "has names of the DSL Forum": { services: { "/1": up("urn:dslforum-org:service:WANPPPConnection:1") } },
  "has a base for its addresses": {
    description: (services) => `<URLBase>http://10.0.0.138:5000/</URLBase>${services}`,
  },
  "writes prefixes and attributes": {
    description: (services) =>
      services.replaceAll(/<(\/?)(\w)/g, "<$1d:$2").replaceAll("<d:service>", '<d:service xmlns:d="urn:x">'),
  },
  "has put a service into a comment": {
    description: (services) => `<!-- ${services.replaceAll("/1", "/0")} -->${services}`,
  },
  "grants no leases (725)": { lease: 725 },
  "takes a lease for a wrong argument (402)": { lease: 402 },
  "fails at a lease (501)": { lease: 501 },
  "fails at a lease, without a number": { lease: "no code" },
  "has given the port to another computer (718)": { taken: 718 },
  "has given the port to its own telephone (729)": { taken: 729 },
  "fails at a port that is taken (501)": { taken: 501 },
  "fails at both": { taken: 501, lease: 501 },
  "does not renew": { neverRenews: true },
  "wants the same port on both sides": { samePort: true },
  "picks ports itself": {
    picks: true,
    services: { "/1": up("urn:schemas-upnp-org:service:WANIPConnection:2") },
  },
  "refuses with status 200": { politeRefusals: true, lease: 725 },
  "does not tell its address": { keepsAddress: true },
};

interface OddMapping {
  client: string;
  internal: number;
  service: string;
}

export interface Page {
  status: number;
  body: string;
}

/** UPnP's part of a home router, without its sockets. */
export class OddRouter {
  readonly mappings = new Map<number, OddMapping>();

  constructor(
    private readonly oddity: Oddity,
    private readonly own: string,
    private readonly external: string,
    /** The first port that is asked for, which another computer has at some routers. */
    wanted: number,
  ) {
    if (oddity.taken !== undefined)
      this.mappings.set(wanted, { client: "192.168.8.99", internal: 1, service: "/1" });
  }

  /** The answers to a search that was sent to this address. */
  found(search: string, to: string): string[] {
    const { answers, beside, newline = "\r\n", calls = this.own } = this.oddity;
    const isForAll = search.includes("ssdp:all");
    if (!search.startsWith("M-SEARCH") || !search.includes("HOST: 239.255.255.250:1900\r\n")) return [];
    if (answers === "group" && to === this.own) return [];
    if (answers === "everything" && !isForAll) return [];
    const answer = (type: string, path: string) =>
      ["HTTP/1.1 200 OK", `ST: ${type}`, `Location: http://${calls}:5000${path}`, "", ""].join(newline);
    const own = answer("urn:schemas-upnp-org:device:InternetGatewayDevice:1", "/root.xml");
    return beside === undefined ? [own] : [answer("upnp:rootdevice", "/media.xml"), own];
  }

  page(path: string, action: string, body: string): Page {
    if (path === "/root.xml") return { status: 200, body: this.description() };
    const service = this.services[path];
    const name = action.split("#")[1]?.replaceAll('"', "") ?? "";
    if (service === undefined || !action.startsWith(`"${service.type}#`)) return { status: 404, body: "" };
    return this.answer(path, name, (field) => new RegExp(`<${field}>([^<]*)<`).exec(body)?.[1] ?? "");
  }

  private get services() {
    return this.oddity.services ?? { "/1": up(WAN_IP) };
  }

  private description(): string {
    const all = Object.entries(this.services).map(
      ([path, { type }]) =>
        `<service><serviceType>${type}</serviceType><controlURL>${path}</controlURL></service>`,
    );
    const { description = (services) => services } = this.oddity;
    return `<?xml version="1.0"?><root><device><serviceList>${description(all.join(""))}</serviceList></device></root>`;
  }

  private answer(path: string, name: string, field: (name: string) => string): Page {
    const port = Number(field("NewExternalPort"));
    const known = this.mappings.get(port);
    switch (name) {
      case "GetStatusInfo":
        return done(`<NewConnectionStatus>${this.services[path]?.status}</NewConnectionStatus>`);
      case "GetExternalIPAddress":
        return this.oddity.keepsAddress
          ? this.refusal(501)
          : done(`<NewExternalIPAddress>${this.external}</NewExternalIPAddress>`);
      case "AddPortMapping":
        return this.add(path, port, field);
      case "AddAnyPortMapping":
        this.give(path, 40_400, field);
        return done("<NewReservedPort>40400</NewReservedPort>");
      case "GetSpecificPortMappingEntry":
        return known === undefined
          ? this.refusal(714)
          : done(
              `<NewInternalClient>${known.client}</NewInternalClient><NewInternalPort>${known.internal}</NewInternalPort>`,
            );
      case "DeletePortMapping":
        return this.mappings.delete(port) ? done("") : this.refusal(714);
      default:
        return this.refusal(713);
    }
  }

  private add(path: string, port: number, field: (name: string) => string): Page {
    const { lease, taken, neverRenews, samePort, picks } = this.oddity;
    const known = this.mappings.get(port);
    const isOwn = known?.client === field("NewInternalClient");
    if (picks) return this.refusal(501);
    if (samePort && port !== Number(field("NewInternalPort"))) return this.refusal(724);
    if (lease !== undefined && field("NewLeaseDuration") !== "0") return this.refusal(lease);
    if (known !== undefined && (!isOwn || neverRenews)) return this.refusal(taken ?? 718);
    this.give(path, port, field);
    return done("");
  }

  private give(service: string, port: number, field: (name: string) => string): void {
    const [client, internal] = [field("NewInternalClient"), Number(field("NewInternalPort"))];
    this.mappings.set(port, { client, internal, service });
  }

  private refusal(code: number | "no code"): Page {
    if (code === "no code") return { status: 500, body: "" };
    const status = this.oddity.politeRefusals ? 200 : 500;
    return { status, body: `<s:Fault><UPnPError><errorCode>${code}</errorCode></UPnPError></s:Fault>` };
  }
}

function done(fields: string): Page {
  return { status: 200, body: `<s:Envelope><s:Body>${fields}</s:Body></s:Envelope>` };
}

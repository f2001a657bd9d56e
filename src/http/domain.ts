import type { Server } from "bun";
import type { AccessPoint } from "../access/access-point.ts";
import type { Claim } from "../access/claim.ts";
import type { Pairing } from "../access/pairing.ts";
import type { Passphrases } from "../access/passphrases.ts";
import type { PortFinder } from "../access/port-finder.ts";
import type { Ports } from "../access/ports.ts";
import type { Tokens } from "../access/tokens.ts";
import type { Bus } from "../base/bus.ts";
import type { Texts } from "../base/saved.ts";
import type { Settings } from "../base/settings.ts";
import type { Https } from "../certificates/https.ts";
import type { Checkup } from "../checks/checkup.ts";
import type { Destinations } from "../destinations/destinations.ts";
import type { Devices } from "../devices/devices.ts";
import type { BlockLists } from "../dns/block-lists.ts";
import type { Dns } from "../dns/dns.ts";
import type { QueryLog } from "../dns/query-log.ts";
import type { Forwards } from "../forwards/forwards.ts";
import type { History } from "../history/history.ts";
import type { Alerts } from "../journal/alerts.ts";
import type { Journal } from "../journal/journal.ts";
import type { OperatorSwitch } from "../killswitch/operator-switch.ts";
import type { ConntrackGuard } from "../network/bounds.ts";
import type { FairQueues } from "../network/fair-queues.ts";
import type { OtherRouters } from "../network/other-routers.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { Accounts } from "../providers/accounts.ts";
import type { RemoteAccess } from "../remote/access.ts";
import type { Schedules } from "../schedules/schedules.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Favourites } from "../servers/favourites.ts";
import type { Updates } from "../servers/updates.ts";
import type { SpeedTests } from "../speed/speed-tests.ts";
import type { Host } from "../system/host.ts";
import type { RootCommands } from "../system/root-commands.ts";
import type { ConnectRequests } from "../tunnel/connect-requests.ts";
import type { HttpsClient } from "../tunnel/https-client.ts";
import type { Overview } from "../tunnel/overview.ts";
import type { PastConnections } from "../tunnel/past-connections.ts";
import type { QualitySettings } from "../tunnel/quality-settings.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { Switches } from "../tunnel/switches.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import type { AccountRequests } from "./account-requests.ts";
import type { Backups } from "./backup-schema.ts";
import type { Bodies } from "./bodies.ts";
import type { Clients } from "./clients.ts";
import type { EventSockets, SocketData } from "./event-sockets.ts";
import type { Gate } from "./gate.ts";
import type { ShownEvents } from "./messages.ts";
import type { ShownBroker } from "./settings-schema.ts";

/** What a request gives a route. */
export interface RouteInput {
  params: Record<string, unknown>;
  query: unknown;
  body: unknown;
  request: Request;
}

/** What the routes read and change. It refuses by throwing a `GatewayError`. */
export interface Domain {
  tunnels: Tunnels;
  overview: Overview;
  connects: ConnectRequests;
  past: PastConnections;
  savedState: SavedState;
  catalogue: Catalogue;
  favourites: Favourites;
  /** Fetch the list of the VPN account's servers. */
  updates: Pick<Updates, "update">;
  /** Sends as the operator's own commands do. */
  httpsClient: Pick<HttpsClient, "send">;
  accounts: Accounts;
  /** The same for clients. */
  accountRequests: AccountRequests;
  notifications: Notifications;
  tokens: Tokens;
  claim: Pick<Claim, "state" | "assertOpen" | "use" | "end">;
  portFinder: Pick<PortFinder, "assertQuiet">;
  accessPoint: Pick<AccessPoint, "assertQuiet">;
  pairing: Pick<Pairing, "use">;
  passphrases: Pick<Passphrases, "confirm" | "assertNoneCounts">;
  rootCommands: Pick<RootCommands, "setUp" | "checkUpdate" | "update" | "assignPorts">;
  ports: Pick<Ports, "shown" | "plan">;
  operatorSwitch: Pick<OperatorSwitch, "turn">;
  backups: Backups;
  devices: Devices;
  destinations: Destinations;
  dns: Dns;
  blockLists: BlockLists;
  queryLog: QueryLog;
  forwards: Forwards;
  remoteAccess: RemoteAccess;
  schedules: Schedules;
  journal: Journal;
  history: History;
  checkup: Checkup;
  otherRouters: OtherRouters;
  bounds: ConntrackGuard;
  events: Pick<Bus<ShownEvents>, "subscribe">;
  alerts: Pick<Alerts, "count" | "raise">;
  settings: Pick<Settings, "dhcp" | "portMapping">;
  store: Texts;
  switches: Switches;
  qualitySettings: QualitySettings;
  fairQueues: FairQueues;
  speedTests: SpeedTests;
  mqtt: { shown(): ShownBroker | null };
  host: Pick<Host, "now" | "monotonic" | "sleep" | "read">;
  /** The machine's name. */
  hostname: string;
  gate: Gate;
  https: Pick<Https, "status">;
  /** The server that a request came to; null if none listens. */
  serverOf: (request: Request) => Server<SocketData> | null;
  eventSockets: EventSockets;
  /** The answers of GET by path, for a request of several at once. */
  readings: Map<string, (given: RouteInput) => unknown>;
  clients: Clients;
  bodies: Bodies;
}

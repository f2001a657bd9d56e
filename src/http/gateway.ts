import type { Checks } from "../checks/schema.ts";
import type { Device, DeviceChange, DeviceList } from "../devices/schema.ts";
import type { Forward, ForwardChange, ForwardProtocol } from "../forwards/schema.ts";
import type { HistoryQuery } from "../history/page.ts";
import type { HistoryPage } from "../history/schema.ts";
import type { JournalPage } from "../journal/schema.ts";
import type { ScheduleBody, ScheduleList } from "../schedules/schema.ts";
import type {
  CustomServer,
  FavouriteList,
  ImportedConfig,
  Managed,
  Provider,
  ServerTree,
  Stored,
} from "../servers/schema.ts";
import type { Histogram } from "../tunnel/histogram.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import type { GatewayEvent } from "./event.ts";
import type { KillSwitchLayers, ManagedChoices, Network, RoundTripList, ServerCounts } from "./schema.ts";
import type { TrafficUpdate } from "./traffic.ts";

/** What a tunnel is to be connected to: names of a server or a place; without a provider, they are the current one's. */
export interface Choice {
  server: string;
  /** Through which it is reached. */
  via?: string;
  provider?: Provider;
}

/** What the HTTP interface needs of the gateway. Its methods refuse by throwing a `GatewayError`. */
export interface Gateway {
  status(): Promise<Status>;
  providers(): { providers: Provider[]; current: Provider };
  serverCounts(): ServerCounts;
  use(provider: Provider): void | Promise<void>;
  /** Whose servers `managed` has. */
  managed(): ManagedChoices;
  chooseManaged(name: Managed): Promise<void>;
  /** The same object until something in it changes, so that the answer is encoded only once. */
  servers(): { servers: ServerTree; provider: Provider };
  /** Resolves after the handshake with the server, or with the nearest one of a place. */
  connect(choice: Choice): Promise<void>;
  disconnect(): Promise<{ killSwitch: boolean }>;
  /** `main` first, then by name. */
  tunnels(): Promise<TunnelRow[]>;
  /** As `connect`, for a tunnel that is made if there is none. */
  leadTunnel(name: string, choice: Choice): Promise<void>;
  disconnectTunnel(name: string): Promise<void>;
  removeTunnel(name: string): Promise<void>;
  addCustom(server: CustomServer): void | Promise<void>;
  /** Refuses the server that the tunnel uses. */
  remove(provider: Stored, name: string): void | Promise<void>;
  /** Returns warnings about settings that have no effect or that the gateway handles in its own way. */
  importConfig(config: ImportedConfig): string[] | Promise<string[]>;
  favourites(): FavouriteList;
  addFavourite(provider: Provider, server: string): void | Promise<void>;
  removeFavourite(provider: Provider, server: string): void | Promise<void>;
  roundTrips(): RoundTripList;
  devices(): Promise<DeviceList>;
  /** Also a device that was never seen. */
  assignDevice(id: string, change: DeviceChange): Promise<void>;
  forgetDevice(id: string): Promise<void>;
  setDefaultExit(exit: string): Promise<void>;
  /** The device that has this address; null for one that is not known. */
  deviceAt(address: string): Promise<Device | null>;
  forwards(): Promise<Forward[]>;
  /** Opens a port of the internet that leads to a device, or says why it is not open yet. */
  forward(id: ForwardId, change: ForwardChange): Promise<Forward>;
  removeForward(id: ForwardId): Promise<void>;
  schedules(): ScheduleList;
  /** Replaces the schedule of that name; resolves once it has its effect, if its time is now. */
  putSchedule(name: string, schedule: ScheduleBody): Promise<void>;
  removeSchedule(name: string): Promise<void>;
  /** What has happened; the ids are exclusive bounds. */
  journal(range: { after: number; before: number; most: number }): JournalPage;
  /** The ports that the provider forwards to `main`, the first one first. */
  forwardedPorts(): number[];
  /** What was carried, and what happened, in a time. */
  history(query: HistoryQuery): HistoryPage | Promise<HistoryPage>;
  keyPair(): { private_key: string; public_key: string };
  network(): Network;
  killSwitch(): Promise<KillSwitchLayers>;
  /** Null while the kill switch works as promised; otherwise one line that says why it does not. */
  health(): Promise<string | null>;
  /** The results of `portcullis check`, some seconds old at most. */
  checks(): Promise<Checks>;
  /** Calls the listener for each event, in order, until the returned function is called. */
  subscribe(listener: (event: GatewayEvent) => void): () => void;
  /** Calls the listener every second with what tunnels and devices have carried, until the returned function is called. */
  followTraffic(listener: (update: TrafficUpdate) => void): () => void;
  figures(): Promise<Figures>;
}

/** What identifies a forward. */
interface ForwardId {
  device: string;
  protocol: ForwardProtocol;
  port: number;
}

/** What identifies a tunnel's WireGuard interface and its server. */
interface Labels {
  interface: string;
  publicKey: string;
  via: string | undefined;
}

/** The figures that `/metrics` shows. */
export interface Figures {
  status: Status;
  /** Each with what identifies its WireGuard interface and its server if it has a session. */
  tunnels: readonly { row: TunnelRow; labels: Labels | null }[];
  /** The number of security alerts since the service started. */
  alerts: number;
  /** How long each successful connect took, in seconds. */
  connects: Histogram;
  /** The number of known devices by exit. */
  devices: Readonly<Record<string, number>>;
  directAllowed: boolean;
  /** The number of open forwarded ports by tunnel. */
  forwards: Readonly<Record<string, number>>;
  /** Of the kernel's connection table; null if it has none yet. */
  places: { taken: number; all: number } | null;
}

import { computed, type Signal, signal } from "@preact/signals";
import type { Static } from "typebox";
import type { Access, ShownPorts, TokenList } from "../access/schema.ts";
import type { HttpsStatus } from "../certificates/schema.ts";
import type { Checks } from "../checks/schema.ts";
import type { DestinationList } from "../destinations/schema.ts";
import type { LanNetworkList } from "../devices/network-schema.ts";
import type { DeviceList, OwnDevice } from "../devices/schema.ts";
import type { DnsLists, DnsStatus, QueryLogShown } from "../dns/schema.ts";
import type { ForwardList } from "../forwards/schema.ts";
import type {
  KillSwitchLayers,
  ManagedChoices,
  Network,
  RoundTripList,
  ServerCounts,
  Servers,
  TunnelRows,
} from "../http/schema.ts";
import type { ShownSettings } from "../http/settings-schema.ts";
import type { JournalPage } from "../journal/schema.ts";
import type { TargetList } from "../notifications/schema.ts";
import type { HomeLinks, RemoteStatus } from "../remote/schema.ts";
import type { ScheduleList } from "../schedules/schema.ts";
import type { FavouriteList } from "../servers/schema.ts";
import type { SpeedTestList } from "../speed/schema.ts";
import type { Status } from "../tunnel/schema.ts";
import type { Connection } from "./connection.ts";

/** What `GET /api/<resource>` answers. A view that needs another one adds a line. */
export interface Answers {
  access: Access;
  status: Status;
  tunnels: Static<typeof TunnelRows>;
  devices: DeviceList;
  "devices/self": OwnDevice;
  forwards: ForwardList;
  destinations: DestinationList;
  dns: DnsStatus;
  "dns/lists": DnsLists;
  /** Over HTTPS only. */
  "dns/log": QueryLogShown;
  schedules: ScheduleList;
  events: JournalPage;
  servers: Static<typeof Servers>;
  "servers/counts": ServerCounts;
  checks: Checks;
  favourites: FavouriteList;
  killswitch: KillSwitchLayers;
  https: HttpsStatus;
  links: HomeLinks;
  managed: ManagedChoices;
  network: Network;
  networks: LanNetworkList;
  /** Over HTTPS only. */
  notifications: TargetList;
  remote: RemoteStatus;
  "round-trips": RoundTripList;
  settings: ShownSettings;
  "speed-tests": SpeedTestList;
  /** Over HTTPS only. */
  tokens: TokenList;
  "owner/ports": ShownPorts;
}
export type Resource = keyof Answers;

/** An answer that is awaited, known, or could not be had. */
export type Loaded<T> =
  | { state: "loading" }
  | { state: "ready"; value: T }
  /** `error` is a sentence for people. */
  | { state: "failed"; error: string };

// All that the page knows. A component that reads the value of a signal is drawn again when that is another one.

export const connection = signal<Connection>({ name: "starting" });
export const isLost = computed(() => connection.value.name === "lost");
/** Whether the gateway has refused something for want of a token. */
export const needsToken = signal(false);

const answers = new Map<Resource, Signal<unknown>>();

/** What is known of an answer; undefined while nobody has asked for it. */
export function answerOf<Name extends Resource>(name: Name): Signal<Loaded<Answers[Name]> | undefined> {
  const known = answers.get(name) ?? signal(undefined);
  answers.set(name, known);
  return known as Signal<Loaded<Answers[Name]> | undefined>;
}

/** The answers that somebody has asked for since the page was opened. */
export function askedFor(): Resource[] {
  return [...answers.keys()];
}

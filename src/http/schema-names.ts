import {
  Access,
  Auth,
  ClaimRequest,
  ClaimStatus,
  NewToken,
  PairingRequest,
  PortsChange,
  PortsRequest,
  ShownPorts,
  ShownRoles,
  ShownToken,
  TokenList,
  TokenRequest,
} from "../access/schema.ts";
import { AlertArguments, AlertCode } from "../base/alert.ts";
import { HttpsStatus } from "../certificates/schema.ts";
import { Check, Checks } from "../checks/schema.ts";
import {
  Destination,
  DestinationBody,
  DestinationChange,
  DestinationList,
  Explanation,
} from "../destinations/schema.ts";
import { LanNetwork, LanNetworkChange, LanNetworkList } from "../devices/network-schema.ts";
import {
  DefaultExit,
  Device,
  DeviceChange,
  DeviceList,
  OwnDevice,
  SharedQuota,
  SharedRate,
} from "../devices/schema.ts";
import { GivenQuota, LABELS, Rate, UsedQuota } from "../devices/values.ts";
import { DnsLists, DnsListsBody, DnsPauseBody, DnsStatus, QueryLogShown } from "../dns/schema.ts";
import { Forward, ForwardChange, ForwardList, ForwardProtocol } from "../forwards/schema.ts";
import { HistoryPage } from "../history/schema.ts";
import { JournalEntry, JournalPage } from "../journal/schema.ts";
import { NewTarget, ShownTarget, TargetList, TestResults } from "../notifications/schema.ts";
import { Credentials, LoggedOut, ShownAccount } from "../providers/schema.ts";
import {
  AddedRemoteDevice,
  HomeLink,
  HomeLinkChange,
  HomeLinks,
  NewHomeCode,
  NewHomeLink,
  NewRemoteDevice,
  RemoteDevice,
  RemoteDeviceChange,
  RemoteStatus,
  TakenHomeCode,
} from "../remote/schema.ts";
import { Schedule, ScheduleBody, ScheduleList } from "../schedules/schema.ts";
import {
  Blocked,
  CustomServer,
  Favourite,
  FavouriteList,
  ImportedConfig,
  ImportedPlace,
  Managed,
  Provider,
  Quantum,
  Relayed,
  ServerRecord,
  ServerTree,
  Transport,
  Updated,
  Wish,
} from "../servers/schema.ts";
import { RunningSpeedTest, SpeedBody, SpeedResult, SpeedTestList } from "../speed/schema.ts";
import { Last } from "../tunnel/last.ts";
import { MoveWhen, Order, OrderTarget } from "../tunnel/order.ts";
import { Quality } from "../tunnel/quality-facts.ts";
import { Status, TunnelRow } from "../tunnel/schema.ts";
import { StateName } from "../tunnel/state.ts";
import { Carrying } from "../tunnel/tunnel-facts.ts";
import { Verdict } from "../tunnel/verdict.ts";
import { Refusal, Success } from "./answers.ts";
import {
  AgreedRestore,
  BackupFile,
  BackupRequest,
  RestorePreview,
  RestoreRequest,
  RestoreResult,
} from "./backup-schema.ts";
import { EVENTS, EventMessage, StaleField } from "./event.ts";
import { LoopStatus, PortForward, PublicIp } from "./gluetun.ts";
import { GluetunSettings } from "./gluetun-settings.ts";
import {
  DirectRequest,
  KillSwitchRequest,
  OwnerSettings,
  RemoteRequest,
  UpdateOffer,
  UpdateRequest,
} from "./owner.ts";
import { PageAnswers } from "./page.ts";
import {
  Disconnected,
  Imported,
  KeyPair,
  KillSwitchLayers,
  ManagedChoice,
  ManagedChoices,
  Network,
  Providers,
  RoundTripList,
  ServerCounts,
  Servers,
  Switched,
  TunnelRows,
} from "./schema.ts";
import { ChangedSettings, Line, ShownSettings } from "./settings-schema.ts";
import { ConnectTarget, MainConnect, TunnelConnect } from "./tunnels.ts";

/** The schemas that the OpenAPI document names. Clients are generated from it, so a name stays what it is. */
export const SCHEMAS = {
  Error: Refusal,
  Success,
  // tunnels
  Status,
  Verdict,
  Tunnel: TunnelRow,
  TunnelList: TunnelRows,
  TunnelState: StateName,
  TunnelOrder: Order,
  TunnelTarget: OrderTarget,
  LastTargets: Last,
  MoveReason: MoveWhen,
  Quality,
  CarryingServer: Carrying,
  ConnectRequest: MainConnect,
  TunnelConnectRequest: TunnelConnect,
  ConnectTarget,
  Disconnected,
  SpeedTest: SpeedResult,
  SpeedTestList,
  SpeedTestRequest: SpeedBody,
  RunningSpeedTest,
  // servers
  Server: ServerRecord,
  ServerList: Servers,
  ServersByPlace: ServerTree,
  ServerCounts,
  Provider,
  ProviderList: Providers,
  SwitchedProvider: Switched,
  ManagedProvider: Managed,
  ManagedProviderList: ManagedChoices,
  ManagedProviderChoice: ManagedChoice,
  UpdatedServers: Updated,
  Transport,
  FixedTransport: Wish,
  RelayedTransport: Relayed,
  BlockedTraffic: Blocked,
  QuantumSafety: Quantum,
  Favourite,
  FavouriteList,
  RoundTripList,
  CustomServer,
  ServerImport: ImportedConfig,
  ServerPlace: ImportedPlace,
  ImportedServer: Imported,
  KeyPair,
  // accounts
  Account: ShownAccount,
  Credentials,
  LoggedOut,
  // devices
  Device,
  DeviceList,
  DeviceChange,
  DeviceIcon: LABELS.icon,
  LanNetwork,
  LanNetworkList,
  LanNetworkChange,
  OwnDevice,
  DefaultExit,
  Rate,
  SharedRate,
  Quota: UsedQuota,
  QuotaRequest: GivenQuota,
  SharedQuota,
  Forward,
  ForwardList,
  ForwardChange,
  ForwardProtocol,
  RemoteAccess: RemoteStatus,
  RemoteDevice,
  RemoteDeviceRequest: NewRemoteDevice,
  RemoteDeviceChange,
  AddedRemoteDevice,
  HomeLink,
  HomeLinkList: HomeLinks,
  HomeLinkRequest: NewHomeLink,
  HomeLinkChange,
  HomeCodeRequest: TakenHomeCode,
  HomeCode: NewHomeCode,
  Network,
  // destinations and schedules
  Destination,
  DestinationList,
  DestinationRequest: DestinationBody,
  DestinationChange,
  DestinationExplanation: Explanation,
  Schedule,
  ScheduleList,
  ScheduleRequest: ScheduleBody,
  // DNS
  Dns: DnsStatus,
  DnsLists,
  DnsListsChange: DnsListsBody,
  DnsPause: DnsPauseBody,
  DnsLog: QueryLogShown,
  // what happens
  JournalEntry,
  JournalPage,
  AlertCode,
  AlertArguments,
  History: HistoryPage,
  Page: PageAnswers,
  Event: EventMessage,
  StalePaths: StaleField,
  ...EVENTS,
  // health
  KillSwitch: KillSwitchLayers,
  Check,
  CheckList: Checks,
  // settings
  Settings: ShownSettings,
  SettingsChange: ChangedSettings,
  Line,
  NotificationTarget: ShownTarget,
  NotificationTargetList: TargetList,
  NotificationTargetRequest: NewTarget,
  NotificationTest: TestResults,
  Token: ShownToken,
  TokenList,
  TokenRequest,
  CreatedToken: NewToken,
  Backup: BackupFile,
  BackupRequest,
  RestorePreview,
  RestorePreviewRequest: RestoreRequest,
  RestoreRequest: AgreedRestore,
  RestoreResult,
  Access,
  Auth,
  ClaimRequest,
  ClaimStatus,
  PairingRequest,
  Ports: ShownPorts,
  PortRoles: ShownRoles,
  PortsRequest,
  PortsChange,
  KillSwitchRequest,
  DirectRequest,
  RemoteAccessRequest: RemoteRequest,
  OwnerSettings,
  UpdateRequest,
  UpdateOffer,
  Https: HttpsStatus,
  // gluetun's control server
  GluetunPublicIp: PublicIp,
  GluetunForwardedPorts: PortForward,
  GluetunStatus: LoopStatus,
  GluetunSettings,
};

import { type Static, type TObject, Type } from "typebox";
import { ClaimRequest, PairingRequest, TokenRequest } from "../access/schema.ts";
import { DestinationBody } from "../destinations/schema.ts";
import { DeviceChange } from "../devices/schema.ts";
import { GivenQuota, Rate } from "../devices/values.ts";
import { DnsListsBody } from "../dns/schema.ts";
import { ForwardChange, Port } from "../forwards/schema.ts";
import { NewTarget } from "../notifications/schema.ts";
import { Credentials } from "../providers/schema.ts";
import { NewRemoteDevice, TakenHomeCode } from "../remote/schema.ts";
import { ScheduleBody } from "../schedules/schema.ts";
import { CustomServer, ImportedConfig, ImportedPlace } from "../servers/schema.ts";
import { TUNNEL_NAME } from "../shared/bounds.ts";
import { SpeedBody } from "../speed/schema.ts";
import { BackupRequest, RestoreRequest } from "./backup-schema.ts";
import { KillSwitchRequest } from "./owner.ts";
import { Line, ShownSettings } from "./settings-schema.ts";
import { TunnelConnect } from "./tunnels.ts";

/** A name in a path; the gateway says what else it must be. */
const Name = Type.String();
/** Without an amount there is no quota. */
const QUOTA = {
  ...Rate.properties,
  ...GivenQuota.properties,
  megabytes: Type.Union([GivenQuota.properties.megabytes, Type.Null()]),
};

/** What the page's forms send: the schemas that validate it. What stands in the path is a field like the others. */
const FORMS = {
  account: Credentials,
  backup: BackupRequest,
  blockedNames: DnsListsBody,
  blockList: DnsListsBody.properties.lists.items,
  claim: ClaimRequest,
  destination: DestinationBody,
  device: DeviceChange,
  file: ImportedConfig,
  forward: Type.Object({ ...ForwardChange.properties, device: Name, port: Port }),
  killSwitch: KillSwitchRequest,
  line: Line,
  link: Type.Object({ ...TakenHomeCode.properties, device: Name }),
  pairing: PairingRequest,
  place: ImportedPlace,
  network: Type.Object({ ...DeviceChange.properties, prefix: Name }),
  notification: NewTarget,
  quality: ShownSettings.properties.quality,
  quota: Type.Object(QUOTA),
  rate: Rate,
  remoteDevice: NewRemoteDevice,
  restore: RestoreRequest,
  schedule: Type.Object({
    ...ScheduleBody.properties,
    ...ScheduleBody.properties.once.properties,
    ...QUOTA,
    name: Name,
  }),
  server: CustomServer,
  speedTest: SpeedBody,
  token: TokenRequest,
  tunnel: Type.Object({ ...TunnelConnect.properties, name: Type.String({ pattern: TUNNEL_NAME }) }),
  why: Type.Object({ device: Name, name: Name }),
};

export type FormName = keyof typeof FORMS;
/** What a form gives once it is filled in. */
export type Given<Name extends FormName> = Static<(typeof FORMS)[Name]>;

/** How the text of a field becomes a value, and its bounds as attributes of an `input`. */
export interface Rule {
  /** Otherwise a text. */
  is?: "number" | "boolean" | "list";
  /** An empty field is null. Otherwise it is left out. */
  nullable?: true;
  required?: true;
  min?: number;
  max?: number;
  /** Numbers with decimals, too. */
  step?: "any";
  maxLength?: number;
  pattern?: string;
}

/** By fields; one that may be left out and be any text has none. */
export type Rules = Readonly<Record<string, Rule>>;

/** A macro of the page, so that it has the bounds of each field without TypeBox: `dashboard/parts/form-values.ts`. */
export function formRules(): Record<FormName, Rules> {
  const rules = Object.entries(FORMS).map(([form, schema]) => [form, rulesOf(schema)]);
  return Object.fromEntries(rules);
}

interface JsonSchema {
  type?: string;
  anyOf?: readonly JsonSchema[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
}

function rulesOf({ properties, required }: TObject): Rules {
  const rules = Object.entries<JsonSchema>(properties).map(([name, schema]) => {
    const rule = Object.entries(ruleOf(schema, required?.includes(name as never) ?? false));
    return [name, Object.fromEntries(rule.filter(([, bound]) => bound !== undefined))] as const;
  });
  return Object.fromEntries(rules.filter(([, rule]) => Object.keys(rule).length > 0));
}

function ruleOf({ anyOf, ...own }: JsonSchema, isRequired: boolean): object {
  const { type, minimum, maximum, maxLength, pattern } = anyOf?.[0] ?? own;
  const nullable = anyOf?.some((each) => each.type === "null") || undefined;
  const required = (isRequired && !nullable) || undefined;
  switch (type) {
    case "boolean":
      return { is: "boolean" };
    case "array":
      return { is: "list" };
    case "integer":
      return { is: "number", nullable, required, min: minimum, max: maximum };
    case "number":
      return { is: "number", nullable, required, min: minimum, max: maximum, step: "any" };
    default:
      return { nullable, required, maxLength, pattern };
  }
}

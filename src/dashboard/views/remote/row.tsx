import type { DeviceList } from "../../../devices/schema.ts";
import type { RemoteDevice } from "../../../remote/schema.ts";
import { change, pathOf } from "../../api.ts";
import { agoOf, bytesOf } from "../../format.ts";
import { say } from "../../language.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { DeviceExit } from "../../parts/device-exit.tsx";
import { Remove, Row } from "../../parts/row.tsx";
import { useNow } from "../../traffic.ts";

interface RowProps {
  device: RemoteDevice;
  /** Null until it is known. */
  list: DeviceList | null;
}

/** A remote device: whether it is there, where it leaves, whether it reaches home, and what removes it. */
export function RemoteRow({ device, list }: RowProps) {
  const { id, addresses, lan, online } = device;
  const now = useNow();
  const title = device.name || (addresses[0] ?? id);
  const path = pathOf("remote", "devices", id);
  const listed = list?.devices.find((each) => each.id === id);
  return (
    <Row
      icon="phone"
      tone={online ? "protected" : "unknown"}
      name={title}
      label={{ text: say(online ? "Online" : "Offline"), isGood: online }}
      facts={[addresses[0], heardText(device, now)]}
      actions={
        <Remove
          label={say("Remove {device}", { device: title })}
          work={async () => void (await change("DELETE", path))}
          title={say("Remove {device}?", { device: title })}
          text={say(
            "Its session ends at once, and {device} cannot come in any more. Its code and its file stop working: to let it in again, add it again and scan the new code.",
            { device: title },
          )}
        />
      }
    >
      {list !== null && listed !== undefined && <DeviceExit device={listed} list={list} />}
      <AutosaveSelect
        label={say("What {device} reaches", { device: title })}
        value={lan ? "home" : "internet"}
        options={[
          { value: "home", text: say("Home and internet") },
          { value: "internet", text: say("Internet only") },
        ]}
        from={device}
        save={async (reach) => void (await change("PATCH", path, { lan: reach === "home" }))}
      />
    </Row>
  );
}

type Heard = Pick<RemoteDevice, "latest_handshake" | "endpoint" | "rx_bytes" | "tx_bytes">;

/** When and from where it was heard last, and what it has carried. */
export function heardText(peer: Heard, now: number): string {
  const { latest_handshake, endpoint, rx_bytes, tx_bytes } = peer;
  if (latest_handshake === null) return say("It has not called yet.");
  const [ago, received, sent] = [agoOf(latest_handshake, now), bytesOf(rx_bytes), bytesOf(tx_bytes)];
  return endpoint === null
    ? say("Last handshake {ago}. Received {received}, sent {sent}.", { ago, received, sent })
    : say("Last handshake {ago} from {endpoint}. Received {received}, sent {sent}.", {
        ...{ ago, endpoint, received, sent },
      });
}

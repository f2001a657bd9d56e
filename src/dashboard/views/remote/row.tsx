import type { DeviceList } from "../../../devices/schema.ts";
import type { RemoteDevice } from "../../../remote/schema.ts";
import { change, pathOf } from "../../api.ts";
import { agoOf, bytesOf } from "../../format.ts";
import { say } from "../../language.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { Button } from "../../parts/button.tsx";
import { DeviceExit } from "../../parts/device-exit.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useNow } from "../../traffic.ts";

interface RowProps {
  device: RemoteDevice;
  /** Null until it is known. */
  list: DeviceList | null;
}

/** A remote device: whether it is there, where it leaves, whether it reaches home, and what removes it. */
export function Row({ device, list }: RowProps) {
  const { id, addresses, lan, online } = device;
  const title = device.name || (addresses[0] ?? id);
  const path = pathOf("remote", "devices", id);
  const listed = list?.devices.find((each) => each.id === id);
  return (
    <li class={`remote-device tone-${online ? "protected" : "unknown"}`}>
      <Icon name="phone" />
      <div class="device-who">
        <p>
          <strong>{title}</strong>
          <span class={`label ${online ? "online" : "own"}`}>{say(online ? "Online" : "Offline")}</span>
        </p>
        <p class="quiet small">{addresses[0]}</p>
        <Heard device={device} />
      </div>
      {list !== null && listed !== undefined && <DeviceExit device={listed} list={list} />}
      <div class="remote-lan">
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
      </div>
      <div class="remote-remove">
        <Button
          kind="danger"
          doing={say("Removing…")}
          label={say("Remove {device}", { device: title })}
          work={async () => void (await change("DELETE", path))}
          ask={{
            title: say("Remove {device}?", { device: title }),
            text: say(
              "Its session ends at once, and {device} cannot come in any more. Its code and its file stop working: to let it in again, add it again and scan the new code.",
              { device: title },
            ),
            confirm: say("Remove"),
          }}
        >
          {say("Remove")}
        </Button>
      </div>
    </li>
  );
}

/** When and from where it was heard last, and what it has carried. */
function Heard({ device: { latest_handshake, endpoint, rx_bytes, tx_bytes } }: { device: RemoteDevice }) {
  const now = useNow();
  if (latest_handshake === null) return <p class="quiet small">{say("It has not called yet.")}</p>;
  const [ago, received, sent] = [agoOf(latest_handshake, now), bytesOf(rx_bytes), bytesOf(tx_bytes)];
  return (
    <p class="quiet small">
      {endpoint === null
        ? say("Last handshake {ago}. Received {received}, sent {sent}.", { ago, received, sent })
        : say("Last handshake {ago} from {endpoint}. Received {received}, sent {sent}.", {
            ago,
            endpoint,
            received,
            sent,
          })}
    </p>
  );
}

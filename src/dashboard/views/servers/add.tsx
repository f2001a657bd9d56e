import { useState } from "preact/hooks";
import type { Static } from "typebox";
import type { KeyPair } from "../../../http/schema.ts";
import type { CustomServer } from "../../../servers/schema.ts";
import { change, read } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import type { Row } from "../../parts/form.tsx";
import { Form } from "../../parts/form.tsx";
import { Say } from "../../parts/say.tsx";

/** A form for a server of one's own. What the gateway refuses is shown at the field that it names. */
export function AddServer({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={say("Add a server")} onClose={onClose}>
      <Form
        of="server"
        rows={ROWS}
        work={async (given) => {
          await change("POST", "custom/add", given);
          await change("POST", "provider/custom");
          onClose();
        }}
        submit={say("Add the server")}
        doing={say("Adding…")}
      />
    </Dialog>
  );
}

const ROWS: { readonly [Name in keyof CustomServer]?: Row } = {
  name: { label: say("Name"), hint: say("The name it should have in the list.") },
  endpoint: { label: say("Server"), hint: say("Address and port, such as 203.0.113.11:51820") },
  public_key: { label: say("Public key of the server") },
  private_key: {
    label: say("Private key of this gateway"),
    more: ({ onValue }) => <NewKeys onMade={({ private_key }) => onValue(private_key)} />,
  },
  address: { label: say("Addresses of this gateway in the tunnel"), hint: say("Such as 10.64.0.11/32") },
  dns: { label: say("DNS servers in the tunnel"), hint: say("Such as 10.64.0.1") },
  location: { label: say("Place"), hint: say("City, Country") },
  preshared_key: { label: say("Preshared key"), isRare: true },
  allowed_ips: {
    label: say("Allowed addresses"),
    hint: say("All, unless you enter some: 0.0.0.0/0, ::/0"),
    isRare: true,
  },
  persistent_keepalive: { label: say("Keepalive in seconds"), isRare: true },
  mtu: { label: say("MTU in bytes"), isRare: true },
};

type Keys = Static<typeof KeyPair>;

/** Makes a key pair on the gateway, for a server that one runs oneself. */
function NewKeys({ onMade }: { onMade: (keys: Keys) => void }) {
  const [made, setMade] = useState<Keys | null>(null);
  const make = async () => {
    const keys = await read<Keys>("keypair");
    setMade(keys);
    onMade(keys);
  };
  return (
    <div>
      <Button kind="plain" doing={say("Making keys…")} work={make}>
        {say("Make new keys")}
      </Button>
      {made !== null && (
        <p role="status">
          <Say
            message="Enter this public key on the server: <code>{key}</code>"
            parts={{ key: made.public_key }}
          />
        </p>
      )}
    </div>
  );
}

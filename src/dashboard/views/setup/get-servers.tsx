import { useState } from "preact/hooks";
import { FormButton } from "../../parts/button.tsx";
import { FileButton } from "../../parts/file-button.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { AddServer } from "../servers/add.tsx";

/** The three ways to get a server. */
export function GetServers() {
  const [isAdding, setAdding] = useState(false);
  return (
    <ul class="ways">
      <li>
        <h3>From files</h3>
        <p>
          Your VPN provider offers WireGuard files, or a zip of them, on its website. Drop them anywhere on
          this page.
        </p>
        <FileButton kind="primary">Choose files…</FileButton>
      </li>
      <li>
        <h3>With a Mullvad account</h3>
        <p>Type on the gateway, and have the account number at hand:</p>
        <code class="command">sudo portcullis account login</code>
        <code class="command">sudo portcullis servers update</code>
        <p>
          <ViewLink to="account">Log in on this page</ViewLink>, also at IVPN, Private Internet Access or
          NordVPN.
        </p>
      </li>
      <li>
        <h3>By hand</h3>
        <p>For a server of your own, or one whose keys and addresses you have.</p>
        <FormButton open={() => setAdding(true)}>Add a server…</FormButton>
      </li>
      {isAdding && <AddServer onClose={() => setAdding(false)} />}
    </ul>
  );
}

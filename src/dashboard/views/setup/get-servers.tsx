import { useState } from "preact/hooks";
import { say } from "../../language.ts";
import { FormButton } from "../../parts/button.tsx";
import { FileButton } from "../../parts/file-button.tsx";
import { LogInWays } from "../../parts/log-in-ways.tsx";
import { AddServer } from "../servers/add.tsx";

/** The three ways to get a server. */
export function GetServers() {
  const [isAdding, setAdding] = useState(false);
  return (
    <ul class="ways">
      <li>
        <h3>{say("From files")}</h3>
        <p>
          {say(
            "Your VPN provider offers WireGuard files, or a zip of them, on its website. Drop them anywhere on this page: the gateway keeps the servers in them, with their keys. Nothing connects yet.",
          )}
        </p>
        <FileButton kind="primary">{say("Choose files…")}</FileButton>
      </li>
      <li>
        <h3>{say("With an account")}</h3>
        <p>
          {say(
            "At Mullvad, IVPN, Private Internet Access or NordVPN. The gateway registers itself there, and you fetch its list of servers. Nothing connects yet.",
          )}
        </p>
        <LogInWays />
      </li>
      <li>
        <h3>{say("By hand")}</h3>
        <p>{say("For a server of your own, or one whose keys and addresses you have.")}</p>
        <FormButton open={() => setAdding(true)}>{say("Add a server…")}</FormButton>
      </li>
      {isAdding && <AddServer onClose={() => setAdding(false)} />}
    </ul>
  );
}

import { clientFileName } from "../../../remote/client-file.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useObjectUrl } from "../../parts/object-url.ts";
import { QrCode } from "../../parts/qr-code.tsx";

/** A device that was just added, with its WireGuard file. */
export interface Invited {
  name: string;
  file: string;
}

/** The code to scan and the file to download. They have the device's private key, so only this dialog has them. */
export function Invitation({ of: { name, file }, onClose }: { of: Invited; onClose: () => void }) {
  const url = useObjectUrl(file);
  return (
    <Dialog
      title={say("Let {name} in", { name })}
      isLastChance
      onClose={onClose}
      buttons={
        url !== null && (
          <a class="button" href={url} download={clientFileName(name)}>
            <Icon name="down" /> {say("Download as a file")}
          </a>
        )
      }
    >
      <p>
        {say(
          "In the WireGuard app on {name}, add a tunnel from a QR code, and hold the phone to this screen. If this is {name} itself, download the file and open it with the app.",
          { name },
        )}
      </p>
      <QrCode text={file} label={say("QR code with the WireGuard file of {name}", { name })} />
      <p class="quiet">
        {say(
          "The code is shown only now, and kept nowhere. Whoever has it can connect as {name}. If it is lost, remove {name} and add it again.",
          { name },
        )}
      </p>
    </Dialog>
  );
}

import { CLAIM_MINUTES } from "../access/claim.ts";
import type { LanguageCode } from "../shared/languages.ts";

/** In the order of the page. `{page}` is the gateway's address. */
interface Words {
  title: string;
  cable: string;
  claim: string;
  minutes: string;
}

const WORDS: Record<LanguageCode, Words> = {
  en: {
    title: "No network cable is plugged in",
    cable:
      "Connect a network port of this gateway to your home router. This Wi-Fi then ends. Go back to your home network, and open {page}",
    claim:
      "Or claim the gateway first: stay in this Wi-Fi, and open {page} in this device’s usual browser. It warns once of the gateway’s own certificate.",
    minutes:
      "The gateway can be claimed in the first {minutes} minutes after it is turned on. This Wi-Fi leads nowhere else.",
  },
  de: {
    title: "Es steckt kein Netzwerkkabel",
    cable:
      "Verbinden Sie einen Netzwerkanschluss dieses Gateways mit Ihrem Router. Dieses WLAN endet dann. Wechseln Sie zurück in Ihr Heimnetz und öffnen Sie {page}",
    claim:
      "Oder übernehmen Sie das Gateway zuerst: Bleiben Sie in diesem WLAN und öffnen Sie {page} im üblichen Browser dieses Geräts. Er warnt einmal vor dem eigenen Zertifikat des Gateways.",
    minutes:
      "In den ersten {minutes} Minuten nach dem Einschalten kann das Gateway übernommen werden. Dieses WLAN führt sonst nirgendwohin.",
  },
  es: {
    title: "No hay ningún cable de red conectado",
    cable:
      "Conecte un puerto de red de esta puerta de enlace al router doméstico. Esta Wi-Fi termina entonces. Vuelva a su red doméstica y abra {page}",
    claim:
      "O reclame primero la puerta de enlace: siga en esta Wi-Fi y abra {page} en el navegador habitual de este dispositivo. Avisa una vez del certificado propio de la puerta de enlace.",
    minutes:
      "La puerta de enlace se puede reclamar en los primeros {minutes} minutos después de encenderla. Esta Wi-Fi no lleva a ningún otro sitio.",
  },
  fr: {
    title: "Aucun câble réseau n’est branché",
    cable:
      "Reliez un port réseau de cette passerelle à votre box. Ce Wi-Fi s’arrête alors. Revenez à votre réseau domestique et ouvrez {page}",
    claim:
      "Ou prenez d’abord possession de la passerelle : restez sur ce Wi-Fi et ouvrez {page} dans le navigateur habituel de cet appareil. Il avertit une fois du certificat propre à la passerelle.",
    minutes:
      "On peut prendre possession de la passerelle dans les {minutes} premières minutes après sa mise sous tension. Ce Wi-Fi ne mène nulle part ailleurs.",
  },
  pt: {
    title: "Nenhum cabo de rede está conectado",
    cable:
      "Conecte uma porta de rede deste gateway ao roteador doméstico. Este Wi-Fi termina então. Volte para a sua rede doméstica e abra {page}",
    claim:
      "Ou assuma o gateway primeiro: fique neste Wi-Fi e abra {page} no navegador habitual deste dispositivo. Ele avisa uma vez sobre o certificado próprio do gateway.",
    minutes:
      "O gateway pode ser assumido nos primeiros {minutes} minutos depois de ligado. Este Wi-Fi não leva a nenhum outro lugar.",
  },
  ru: {
    title: "Сетевой кабель не подключён",
    cable:
      "Соедините сетевой порт этого шлюза с домашним роутером. После этого эта сеть Wi-Fi исчезнет. Вернитесь в домашнюю сеть и откройте {page}",
    claim:
      "Или сначала станьте владельцем шлюза: оставайтесь в этой сети Wi-Fi и откройте {page} в обычном браузере этого устройства. Он один раз предупредит о собственном сертификате шлюза.",
    minutes:
      "Стать владельцем шлюза можно в первые {minutes} мин. после включения. Больше эта сеть Wi-Fi никуда не ведёт.",
  },
  zh: {
    title: "没有插入网线",
    cable: "请用网线将此网关的网口连接到家用路由器。此 Wi-Fi 随后会关闭。请回到家庭网络，打开 {page}",
    claim:
      "或者先认领网关：留在此 Wi-Fi 中，用此设备常用的浏览器打开 {page}。浏览器会就网关自己的证书警告一次。",
    minutes: "网关只能在通电后的最初 {minutes} 分钟内认领。此 Wi-Fi 不通向其他任何地方。",
  },
};

/** What a station of the access point is shown, whatever it asks for. It needs no script, no picture and no cookie. */
export function portalPage(language: LanguageCode, name: string): string {
  const { title, cable, claim, minutes } = WORDS[language];
  const link = `<a href="https://${name}/">https://${name}/</a>`;
  const [first, second] = [cable, claim].map((text) => text.replace("{page}", link));
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Portcullis</title>
<style>
  :root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif }
  body { max-width: 34rem; margin: 2rem auto; padding: 0 1rem }
</style>
<h1>${title}</h1>
<p>${first}</p>
<p>${second}</p>
<p>${minutes.replace("{minutes}", String(CLAIM_MINUTES))}</p>
</html>
`;
}

"""Two devices with Wi-Fi in one machine: what they find goes to the serial line, one JSON text a line."""

import http.client
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
import time

SECOND = "192.168.73.60"
PORT = 9999
# Of the laboratory: its internet, its router, a device of its LAN and one where another network would be.
BEYOND = ["203.0.113.80", "192.168.77.254", "192.168.77.10", "10.64.0.1"]


def say(what, **more):
    with open("/dev/ttyS0", "w") as line:
        line.write("\nSTATION " + json.dumps([what, more]) + "\n")


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode == 0 else ""


def until(probe, seconds=3600):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(0.5)
    return None


def enter(number):
    """Moves this process to a network of its own, with this radio."""
    link, name = f"wlan{number}", f"station{number}"
    with open(f"/sys/class/net/{link}/phy80211/name") as file:
        phy = file.read().strip()
    run("ip", "netns", "add", name)
    run("iw", "phy", phy, "set", "netns", "name", name)
    os.setns(os.open(f"/run/netns/{name}", os.O_RDONLY), os.CLONE_NEWNET)
    run("ip", "link", "set", link, "up")
    return link


def is_connected(link):
    return run("iw", "dev", link, "link").startswith("Connected")


def join(link):
    """Returns the name of the network once the device is in it."""

    def attempt():
        names = [line.split("SSID: ")[1] for line in run("iw", "dev", link, "scan").splitlines() if "SSID: Portcullis-" in line]
        if not names:
            return None
        run("iw", "dev", link, "connect", names[0])
        return names[0] if until(lambda: is_connected(link), 5) else None

    return until(attempt)


def lease(link):
    """RFC 2131, as short as it can be: the address and the options by number."""
    mac = bytes.fromhex(run("ip", "-br", "link", "show", link).split()[2].replace(":", ""))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
        sock.bind(("0.0.0.0", 68))
        sock.settimeout(3)

        def exchange(options):
            head = struct.pack("!BBBBIHH16x16s64x128xI", 1, 1, 6, 0, 7, 0, 0x8000, mac, 0x63825363)
            sock.sendto(head + options + b"\x37\x04\x01\x03\x06\x72\xff", ("255.255.255.255", 67))
            answer = sock.recv(2000)
            given, at, found = socket.inet_ntoa(answer[16:20]), 240, {}
            while answer[at] != 255:
                size = answer[at + 1]
                found[answer[at]] = answer[at + 2 : at + 2 + size]
                at += 2 + size
            return given, found

        def attempt():
            try:
                given, found = exchange(b"\x35\x01\x01")
                wanted = b"\x32\x04" + socket.inet_aton(given) + b"\x36\x04" + found[54]
                return exchange(b"\x35\x01\x03" + wanted)
            except OSError:
                return None

        return until(attempt)


def resolve(name, server, port):
    """The address in the answer to a question about a name; its last four bytes."""
    labels = b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.sendto(struct.pack("!6H", 7, 256, 1, 0, 0, 0) + labels + b"\0\0\1\0\1", (server, port))
        try:
            return socket.inet_ntoa(sock.recv(2000)[-4:])
        except OSError:
            return None


def get(address, host, path):
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Location"), answer.read().decode()


def gateway(address, method, path, body=None):
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(address, timeout=60, context=context)
    headers = {"Host": "portcullis.local", "Content-Type": "application/json"}
    connection.request(method, path, body and json.dumps(body), headers)
    return json.loads(connection.getresponse().read())


def is_open(address, port):
    with socket.socket() as sock:
        sock.settimeout(3)
        return sock.connect_ex((address, port)) == 0


def send(targets):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        while True:
            for target in targets:
                try:
                    sock.sendto(b"station", (target, PORT))
                except OSError:
                    pass
            time.sleep(0.2)


def first():
    link = enter(1)
    name = join(link)
    say("joined", ssid=name)
    address, options = lease(link)
    router = socket.inet_ntoa(options[3])
    run("ip", "address", "add", f"{address}/24", "dev", link)
    run("ip", "route", "add", "default", "via", router)
    status, location, _ = get(resolve("captive.apple.com", router, 53), "captive.apple.com", "/hotspot-detect.html")
    _, _, page = get(router, router, "/")
    found = dict(ssid=name, address=address, router=router, portal=options[114].decode(), probe=[status, location])
    found["dns"], found["mdns"] = resolve("example.org", router, 53), resolve("portcullis.local", router, 5353)
    found["page"] = "https://portcullis.local/" in page
    found["claim"] = gateway(router, "GET", "/api/owner/claim")["claim"]
    found["open"] = [port for port in (22, 53, 80, 443, 5000, 8080) if is_open(router, port)]
    # By way of the gateway, because its radio passes nothing from one station to another.
    mac = next(line.split("lladdr ")[1].split()[0] for line in run("ip", "neigh", "show", router).splitlines())
    run("ip", "neigh", "replace", SECOND, "lladdr", mac, "dev", link)
    threading.Thread(target=send, args=([*BEYOND, SECOND],), daemon=True).start()
    time.sleep(5)
    say("found", **found)
    until(lambda: not is_connected(link))
    say("gone")
    join(link)
    # The claim's answer has the token.
    told = until(lambda: claimed(router))
    say("claimed", **told)
    until(lambda: not is_connected(link))
    say("gone again")


def claimed(router):
    try:
        return gateway(router, "POST", "/api/owner/claim", {"name": "phone", "passphrase": "correct horse battery"})
    except OSError:
        return None


def second():
    link = enter(2)
    join(link)
    run("ip", "address", "add", f"{SECOND}/24", "dev", link)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((SECOND, PORT))
        say("second", page=until(lambda: is_open("192.168.73.1", 80)))
        sock.recv(100)
        say("heard")


run("modprobe", "mac80211_hwsim", "radios=3")
until(lambda: os.path.exists("/sys/class/net/wlan2"))
if os.fork() == 0:
    second()
else:
    try:
        first()
    except Exception as error:
        say("failed", error=repr(error))

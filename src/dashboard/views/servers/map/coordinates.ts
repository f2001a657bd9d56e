/** Latitude and longitude in whole degrees, which is enough for a map of this size. */
export type Spot = readonly [latitude: number, longitude: number];

/**
 * Where a place is: by its city, or else in the middle of its country; null if neither is known. Lists of servers write
 * "Gothenburg, Sweden" and "Ashburn, VA, USA".
 */
export function spotOf(location: string): Spot | null {
  const words = location.split(",").map((word) => plain(word.trim()));
  return spots.get(words[0] ?? "") ?? spots.get(words.at(-1) ?? "") ?? null;
}

/** Umlauts are written or not: "Zürich". */
function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

const CITIES = `Adelaide -35 139;Amsterdam 52 5;Ashburn 39 -77;Athens 38 24;Atlanta 34 -84;Auckland -37 175;
Bangkok 14 101;Barcelona 41 2;Belgrade 45 20;Berlin 53 13;Bogota 5 -74;Boston 42 -71;Bordeaux 45 -1;
Bratislava 48 17;Brisbane -27 153;Brussels 51 4;Bucharest 44 26;Budapest 48 19;Buenos Aires -35 -58;
Calgary 51 -114;Chicago 42 -88;Copenhagen 56 13;Dallas 33 -97;Denver 40 -105;Detroit 42 -83;Dublin 53 -6;
Dusseldorf 51 7;Frankfurt 50 9;Fortaleza -4 -39;Geneva 46 6;Glasgow 56 -4;Gothenburg 58 12;Hamburg 54 10;
Helsinki 60 25;Hong Kong 22 114;Houston 30 -95;Istanbul 41 29;Jakarta -6 107;Johannesburg -26 28;
Kansas City 39 -95;Kuala Lumpur 3 102;Kyiv 50 31;Lagos 6 3;Las Vegas 36 -115;Lima -12 -77;Lisbon 39 -9;
Ljubljana 46 15;London 51 0;Los Angeles 34 -118;Luxembourg 50 6;Madrid 40 -4;Malmo 56 13;Manchester 53 -2;
Manila 15 121;Marseille 43 5;McAllen 26 -98;Melbourne -38 145;Miami 26 -80;Milan 45 9;Montreal 46 -74;
Moscow 56 38;Mumbai 19 73;Munich 48 12;New York 41 -74;Nicosia 35 33;Osaka 35 136;Oslo 60 11;Palermo 38 13;
Paris 49 2;Perth -32 116;Phoenix 33 -112;Prague 50 14;Queretaro 21 -100;Raleigh 36 -79;Reykjavik 64 -22;
Riga 57 24;Rome 42 13;Salt Lake City 41 -112;San Francisco 38 -122;San Jose 37 -122;Santiago -33 -71;
Sao Paulo -24 -47;Seattle 48 -122;Secaucus 41 -74;Seoul 38 127;Singapore 1 104;Skopje 42 21;Sofia 43 23;
Stavanger 59 6;Stockholm 59 18;Sydney -34 151;Tallinn 59 25;Tel Aviv 32 35;Tirana 41 20;Tokyo 36 140;
Toronto 44 -79;Valencia 39 0;Vancouver 49 -123;Vienna 48 16;Vilnius 55 25;Warsaw 52 21;Washington 39 -77;
Zagreb 46 16;Zurich 47 9`;

const COUNTRIES = `Albania 41 20;Algeria 28 3;Argentina -35 -65;Armenia 40 45;Australia -25 134;Austria 47 14;
Azerbaijan 40 48;Bahrain 26 51;Bangladesh 24 90;Belarus 53 28;Belgium 51 5;Bolivia -17 -65;
Bosnia & Herzegovina 44 18;Brazil -10 -53;Bulgaria 43 25;Cambodia 13 105;Canada 56 -106;Chile -31 -71;
China 35 104;Colombia 4 -73;Costa Rica 10 -84;Croatia 45 16;Cyprus 35 33;Czech Republic 50 15;Czechia 50 15;
Denmark 56 10;Dominican Republic 19 -70;Ecuador -1 -78;Egypt 27 30;Estonia 59 26;Finland 63 26;France 47 2;
Georgia 42 43;Germany 51 10;Ghana 8 -1;Greece 39 22;Guatemala 16 -90;Hungary 47 19;Iceland 65 -19;India 22 79;
Indonesia -2 118;Iran 32 54;Iraq 33 44;Ireland 53 -8;Israel 31 35;Italy 43 12;Jamaica 18 -77;Japan 36 138;
Jordan 31 37;Kazakhstan 48 67;Kenya 0 38;Kuwait 29 48;Laos 18 103;Latvia 57 25;Lebanon 34 36;
Liechtenstein 47 10;Lithuania 55 24;Malaysia 4 102;Malta 36 14;Mexico 24 -102;Moldova 47 29;Monaco 44 7;
Mongolia 47 104;Montenegro 43 19;Morocco 32 -6;Myanmar 21 96;Nepal 28 84;Netherlands 52 6;New Zealand -41 173;
Nigeria 9 8;North Macedonia 42 22;Norway 61 9;Pakistan 30 69;Panama 9 -80;Paraguay -23 -58;Peru -10 -75;
Philippines 12 122;Poland 52 19;Portugal 40 -8;Puerto Rico 18 -66;Qatar 25 51;Romania 46 25;Russia 56 40;
Saudi Arabia 24 45;Serbia 44 21;Slovakia 49 19;Slovenia 46 15;South Africa -29 25;South Korea 36 128;
Spain 40 -4;Sri Lanka 7 81;Sweden 62 15;Switzerland 47 8;Taiwan 24 121;Thailand 15 101;Tunisia 34 10;
Turkey 39 35;Türkiye 39 35;UK 53 -2;USA 39 -98;Ukraine 49 31;United Arab Emirates 24 54;United Kingdom 53 -2;
United States 39 -98;Uruguay -33 -56;Uzbekistan 41 64;Venezuela 7 -66;Vietnam 16 107`;

const spots: ReadonlyMap<string, Spot> = new Map(
  `${COUNTRIES};${CITIES}`.split(/;\n?/).map((line) => {
    const [, name = "", latitude, longitude] = /^(.+) (-?\d+) (-?\d+)$/.exec(line) ?? [];
    return [plain(name), [Number(latitude), Number(longitude)]];
  }),
);

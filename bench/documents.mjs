// Generated stand-ins for the three documents that JSON parsers are usually measured on. They have
// the originals' structure, proportions and size, without carrying megabytes in the repository.

const HIRAGANA = [
  ...'あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん',
];
const KANJI = [
  ...'日本人大学生年月時間東京都市国語会社電車友達家族音楽映画写真仕事世界今度最近本当一緒',
];
const JAPANESE = [...HIRAGANA, ...HIRAGANA, ...KANJI, ...'、。！'];
const COLOURS = ['C0DEED', 'DDEEF6', '333333', '0084B4', 'FFFFFF', '131516', '5EB9FF'];

function stamp(random) {
  const day = random.pick(['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']);
  const time = [random.between(10, 23), random.between(10, 59), random.between(10, 59)].join(':');
  return `${day} Aug ${random.between(10, 31)} ${time} +0000 ${random.between(2009, 2014)}`;
}

const shortLink = (random) => `http://t.co/${random.characters(10)}`;

function link(random) {
  const site = `${random.word()}.example/${random.characters(8)}`;
  return {
    url: shortLink(random),
    expanded_url: `http://${site}`,
    display_url: `${site}…`,
    indices: [random.int(100), random.between(100, 139)],
  };
}

// The real ids have 60 bits. Beyond 2^53 a JavaScript number is no exact integer and the codecs
// rightly differ in what they make of it, so these stay within.
const bigId = (random) => 2 ** 52 + random.int(2 ** 52);

function tweeter(random) {
  const id = random.int(2 ** 31);
  const image = `pbs.twimg.example/profile_images/${bigId(random)}/${random.characters(8)}`;
  const background = `pbs.twimg.example/profile_background_images/${bigId(random)}`;
  return {
    id,
    id_str: String(id),
    name: random.characters(random.between(3, 10), JAPANESE),
    screen_name: random.characters(random.between(6, 14)),
    location: random.chance(0.5) ? random.characters(random.between(2, 12), JAPANESE) : '',
    description: random.characters(random.between(20, 90), JAPANESE),
    url: random.chance(0.4) ? shortLink(random) : null,
    entities: { description: { urls: random.chance(0.2) ? [link(random)] : [] } },
    protected: false,
    followers_count: random.int(5000),
    friends_count: random.int(2000),
    listed_count: random.int(100),
    created_at: stamp(random),
    favourites_count: random.int(20_000),
    utc_offset: random.chance(0.6) ? 32_400 : null,
    time_zone: random.chance(0.6) ? 'Tokyo' : null,
    geo_enabled: random.chance(0.3),
    verified: false,
    statuses_count: random.int(400_000),
    lang: 'ja',
    contributors_enabled: false,
    is_translator: false,
    is_translation_enabled: false,
    profile_background_color: random.pick(COLOURS),
    profile_background_image_url: `http://${background}.png`,
    profile_background_image_url_https: `https://${background}.png`,
    profile_background_tile: random.chance(0.3),
    profile_image_url: `http://${image}_normal.jpeg`,
    profile_image_url_https: `https://${image}_normal.jpeg`,
    profile_banner_url: `https://pbs.twimg.example/profile_banners/${id}/${random.int(2 ** 30)}`,
    profile_link_color: random.pick(COLOURS),
    profile_sidebar_border_color: random.pick(COLOURS),
    profile_sidebar_fill_color: random.pick(COLOURS),
    profile_text_color: random.pick(COLOURS),
    profile_use_background_image: true,
    default_profile: random.chance(0.4),
    default_profile_image: false,
    following: false,
    follow_request_sent: false,
    notifications: false,
  };
}

function mention(random) {
  const id = random.int(2 ** 31);
  return {
    screen_name: random.characters(random.between(6, 14)),
    name: random.characters(random.between(3, 10), JAPANESE),
    id,
    id_str: String(id),
    indices: [random.int(10), random.between(10, 25)],
  };
}

function status(random, mayRetweet) {
  const id = bigId(random);
  const head = {
    metadata: { result_type: 'recent', iso_language_code: 'ja' },
    created_at: stamp(random),
    id,
    id_str: String(id),
    text: random.characters(random.between(40, 130), JAPANESE),
    source:
      '<a href="http://twitter.example/download/iphone" rel="nofollow">Twitter for iPhone</a>',
    truncated: false,
    in_reply_to_status_id: null,
    in_reply_to_status_id_str: null,
    in_reply_to_user_id: null,
    in_reply_to_user_id_str: null,
    in_reply_to_screen_name: null,
    user: tweeter(random),
    geo: null,
    coordinates: null,
    place: null,
    contributors: null,
  };
  const retweeted =
    mayRetweet && random.chance(0.7) ? { retweeted_status: status(random, false) } : {};
  return {
    ...head,
    ...retweeted,
    retweet_count: random.int(100),
    favorite_count: random.int(50),
    entities: {
      hashtags: [],
      symbols: [],
      urls: random.chance(0.3) ? [link(random)] : [],
      user_mentions: random.chance(0.7) ? [mention(random)] : [],
    },
    favorited: false,
    retweeted: false,
    possibly_sensitive: false,
    lang: 'ja',
  };
}

/** A search result of 100 messages: many equal keys, mostly Japanese text, about 600 KB. */
export function twitterLike(random) {
  return {
    statuses: random.list(100, () => status(random, true)),
    search_metadata: {
      completed_in: 0.087,
      max_id: bigId(random),
      query: '%E4%B8%80',
      refresh_url: `?since_id=${bigId(random)}&q=%E4%B8%80&result_type=recent`,
      count: 100,
      since_id: 0,
    },
  };
}

const FRENCH = [...'abcdefghijlmnopqrstuvéèêàçù'];

const named = (random, ids) =>
  Object.fromEntries(ids.map((id) => [id, random.words(random.between(1, 4), FRENCH)]));

/** A theatre's season: dictionaries keyed by numbers, and many small records of integers. */
export function citmLike(random) {
  const ids = (count, from) => random.list(count, (index) => from + index * random.between(1, 2));
  const areas = ids(17, 205_705_993);
  const categories = ids(64, 338_937_235);
  const topics = ids(19, 337_184_262);
  const events = ids(184, 138_586_341);
  const logo = () => (random.chance(0.5) ? `/images/${random.characters(20)}` : null);

  const event = (id) => ({
    description: null,
    id,
    logo: logo(),
    name: random.words(random.between(2, 5), FRENCH),
    subTopicIds: random.list(random.between(2, 4), () => random.pick(topics)),
    subjectCode: null,
    subtitle: null,
    topicIds: [324_846_099, 107_888_604],
  });
  const performance = (index) => {
    const sold = random.list(random.between(2, 5), () => random.pick(categories));
    return {
      eventId: random.pick(events),
      id: 339_887_544 + index,
      logo: logo(),
      name: null,
      prices: sold.map((seatCategoryId) => ({
        amount: random.between(20, 900) * 100,
        audienceSubCategoryId: 337_100_890,
        seatCategoryId,
      })),
      seatCategories: sold.map((seatCategoryId) => ({
        areas: random.list(random.between(5, 17), () => ({
          areaId: random.pick(areas),
          blockIds: [],
        })),
        seatCategoryId,
      })),
      seatMapImage: null,
      start: 1_372_701_600_000 + index * 86_400_000,
      venueCode: 'PLEYEL_PLEYEL',
    };
  };
  return {
    areaNames: named(random, areas),
    audienceSubCategoryNames: { 337100890: 'Abonné' },
    blockNames: {},
    events: Object.fromEntries(events.map((id) => [id, event(id)])),
    performances: random.list(243, performance),
    seatCategoryNames: named(random, categories),
    subTopicNames: named(random, topics),
    venueNames: { PLEYEL_PLEYEL: 'Salle Pleyel' },
  };
}

/** A country's outline: 480 rings, some 56 000 pairs of doubles. */
export function canadaLike(random) {
  const ring = () => {
    let longitude = -141 + random.fraction() * 88;
    let latitude = 42 + random.fraction() * 41;
    // A few long rings hold most of the points, as a coast and its islands do.
    const points = random.chance(0.1) ? random.between(300, 1800) : random.between(8, 60);
    return random.list(points, () => {
      longitude += (random.fraction() - 0.5) / 50;
      latitude += (random.fraction() - 0.5) / 50;
      return [longitude, latitude];
    });
  };
  return {
    type: 'FeatureCollection',
    features: [
      {
        type: 'Feature',
        properties: { name: 'Canada' },
        geometry: { type: 'Polygon', coordinates: random.list(480, ring) },
      },
    ],
  };
}

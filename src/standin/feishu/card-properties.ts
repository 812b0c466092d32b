const CONTAINER =
  'direction padding horizontal_spacing horizontal_align vertical_spacing vertical_align elements';

/** Properties of the parts of a JSON 2.0 card that have no tag (open.feishu.cn, "Card JSON 2.0 structure"). */
export const PART_PROPERTIES = {
  card: 'schema config card_link header body',
  config:
    'streaming_mode streaming_config summary locales enable_forward update_multi width_mode use_custom_translation enable_forward_interaction style',
  header: 'title subtitle text_tag_list i18n_text_tag_list template icon padding',
  body: CONTAINER,
} as const;

/** Languages that a text may carry (open.feishu.cn, "Configure multi-language card content"). */
export const CARD_LANGUAGES: readonly string[] =
  'zh_cn en_us zh_hk zh_tw ja_jp id_id vi_vn th_th pt_br es_es ko_kr de_de fr_fr it_it ru_ru ms_my'.split(
    ' ',
  );

/** Properties of each component that the stand-in draws, beside `tag`, `element_id` and `margin`. */
const COMPONENT_PROPERTIES: Readonly<Record<string, string>> = {
  plain_text: 'content i18n_content text_size text_color text_align lines',
  lark_md: 'content i18n_content text_size text_align lines',
  text_tag: 'text color',
  div: 'text icon width fields',
  markdown: 'content i18n_content text_size text_align icon',
  hr: '',
  standard_icon: 'token color',
  button:
    'type size width text icon hover_tips disabled disabled_tips confirm behaviors name required form_action_type value',
  input:
    'name required disabled placeholder default_value width max_length input_type show_icon rows auto_resize max_rows label label_position value behaviors confirm fallback',
  form: `name ${CONTAINER}`,
  column_set: 'flex_mode background_style columns action horizontal_spacing horizontal_align',
  column: `width weight background_style action ${CONTAINER}`,
};

/** The properties that a component may have; null for a tag that schema 2.0 does not know (or we do not draw). */
export const propertiesOf = (tag: string): string | null =>
  Object.hasOwn(COMPONENT_PROPERTIES, tag)
    ? `tag element_id margin ${COMPONENT_PROPERTIES[tag]}`.trim()
    : null;

/** A setting of the alerts that the API has stored. */
export interface AlertSetting {
  /** `settings`, or `webhook:` and the id of a webhook. */
  name: string;
  /** JSON. Its secrets are sealed. */
  value: string;
}

export interface AlertSettingReader {
  /** Lists all, by name. */
  listAlertSettings(): Promise<AlertSetting[]>;
}

export interface AlertSettingWriter extends AlertSettingReader {
  /** Creates or replaces it. */
  putAlertSetting(setting: AlertSetting): Promise<void>;
  deleteAlertSetting(name: string): Promise<void>;
}

"""An entry of the table of settings is all that the rest needs of it."""

import msgspec
import pytest

from halftrip.analysis.compared_run import aspects
from halftrip.analysis.setting_figures import configuration_fields
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import PART_KEYS, Plan
from halftrip.plan.settings import SETTINGS, in_place, ordered
from halftrip.report.fields import FIELDS
from halftrip.results.configuration import UNKNOWN, Configuration, EndSettings, Tuning, not_said
from harness.runs import configuration

WITHOUT_EXTRA = [each for each in SETTINGS.values() if each.place != "extra"]


@pytest.mark.parametrize("setting", WITHOUT_EXTRA, ids=lambda each: each.name)
def test_a_setting_is_in_plans_rows_and_files(setting):
    assert setting.name in Plan.__struct_fields__
    assert setting.name in PART_KEYS
    assert OPTIONS[setting.name].read is setting.read
    if setting.default is not None:
        assert setting.read(setting.default) == getattr(Plan(), setting.name)
    assert setting.title in [field.name for field in FIELDS]
    assert setting.figure in configuration_fields(configuration())
    assert setting.title in aspects([configuration()])
    assert setting.says


def test_a_configuration_has_no_other_settings():
    apart = {"transport", "pattern", "mode", "size", "size_known", "pair", "thread"}
    apart |= {"concurrency", "extra", "variant", "unknown", "initiator", "responder", "tuning"}
    whole = {each.name for each in in_place("configuration", "transport")}
    assert set(Configuration.__struct_fields__) == whole | apart
    ends = {each.name for each in in_place("ends")}
    assert set(EndSettings.__struct_fields__) == ends | {"core"}
    assert tuple(each.name for each in in_place("sockets")) == Tuning.__struct_fields__


@pytest.mark.parametrize("setting", in_place("transport", "sockets"), ids=lambda each: each.name)
def test_the_standard_is_what_a_configuration_has_that_does_not_say(setting):
    fields = {each.name: each.default for each in msgspec.structs.fields(Configuration)}
    kept = fields["tuning"] if setting.place == "sockets" else None
    assert setting.standard == (getattr(kept, setting.name) if kept else fields[setting.name])


@pytest.mark.parametrize("setting", WITHOUT_EXTRA, ids=lambda each: each.name)
def test_any_setting_may_be_one_that_a_text_does_not_say(setting):
    said = configuration(window=2)
    unknown = not_said(said, [setting.name])
    assert {setting.of(unknown), setting.in_effect(unknown)} == {UNKNOWN}
    assert setting.text(unknown) == ""
    shown = configuration_fields(unknown)
    assert shown[setting.figure] == (UNKNOWN if setting.kind.startswith("text") else None)
    assert shown == configuration_fields(said) | {setting.figure: shown[setting.figure]}


def test_all_settings_follow_those_that_are_named_first():
    names = [each.name for each in ordered(("cache", "wait"))]
    assert names[:3] == ["cache", "wait", "window"]
    assert sorted(names) == sorted(SETTINGS)

"""Pools, profiles and headroom of SONiC become the switch's memory."""

from sonic_base import PORTS, Config, base, computed, imported
from test_sonic_rows import said

from afflux.exchange.sonic.headroom import Pattern, xoff


def test_a_fixed_limit_of_lossless_groups_is_that_of_the_groups(tmp_path):
    tables = base()
    profile = tables["BUFFER_PROFILE"]["pg_lossless_profile"]
    del profile["dynamic_th"]
    profile["static_th"] = "2500000"
    mmu = imported(tmp_path, tables)[0]["switch"]["mmu"]
    assert "lossless_alpha" not in mmu
    assert mmu["group"] == [{"priorities": [3, 4], "limit": "2500000B"}]
    profile["dynamic_th"] = "0"
    scenario, account = imported(tmp_path, tables)
    assert "group" not in scenario["switch"]["mmu"]
    assert said(account, "pg_lossless_profile", "static_th = 2500000", "dynamic_th decides")


def test_groups_with_other_profiles_have_their_own_alpha_limit_and_reserve(tmp_path):
    tables = base()
    tables["BUFFER_PROFILE"]["slow"] = tables["BUFFER_PROFILE"]["pg_lossless_profile"] | {
        "dynamic_th": "1",
        "size": "9216",
        "xoff": "90000",
    }
    tables["BUFFER_PROFILE"]["fixed"] = {
        "pool": "ingress_lossless_pool",
        "size": "1280",
        "static_th": "300000",
    }
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["6"] = "1"
    for port in PORTS:
        del tables["BUFFER_PG"][f"{port}|3-4"]
        tables["BUFFER_PG"] |= {
            f"{port}|3": {"profile": "pg_lossless_profile"},
            f"{port}|4": {"profile": "slow"},
            f"{port}|1": {"profile": "fixed"},
        }
    scenario, account = imported(tmp_path, tables)
    mmu = scenario["switch"]["mmu"]
    assert (mmu["lossless_alpha"], mmu["lossless_reserved"], mmu["lossy_ingress_alpha"]) == (
        0.25,
        "18432B",
        8,
    )
    assert mmu["group"] == [
        {"priorities": [4], "alpha": 2, "reserved": "9216B"},
        {"priorities": [6], "limit": "300000B", "reserved": "1280B"},
    ]
    assert said(account, "slow", "xoff = 90000", "160000")


def test_a_reserve_that_classes_share_is_divided(tmp_path):
    tables = base()
    tables["BUFFER_PROFILE"]["ingress_lossy_profile"]["size"] = "12000"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["mmu"]["group"] == [
        {"priorities": [0, 1, 2, 5, 6, 7], "reserved": "2000B"}
    ]
    assert said(account, "share the priority group 0", "equal part of its reserve")


def test_a_fixed_limit_of_lossy_queues_is_that_of_the_queues(tmp_path):
    tables = base()
    profile = tables["BUFFER_PROFILE"]["egress_lossy_profile"]
    profile["static_th"] = "300000"
    del profile["dynamic_th"]
    switch = imported(tmp_path, tables)[0]["switch"]
    assert {queue["index"]: queue.get("buffer") for queue in switch["queue"]} == {
        **dict.fromkeys((0, 1, 2, 5, 6, 7), "300000B"),
        **dict.fromkeys((3, 4)),
    }
    # A limit of the size of the whole pool has no effect.
    profile["static_th"] = "48000000"
    assert not any("buffer" in queue for queue in imported(tmp_path, tables)[0]["switch"]["queue"])
    # Without queues the limit cannot be applied.
    profile["static_th"] = "300000"
    for table in ("QUEUE", "TC_TO_QUEUE_MAP"):
        del tables[table]
    assert said(imported(tmp_path, tables)[1], "egress_lossy_profile", "static_th = 300000")


def test_a_pool_of_both_directions(tmp_path):
    tables = base()
    tables["BUFFER_POOL"] = {
        "ingress_lossless_pool": {
            "size": "5000000000",
            "type": "both",
            "mode": "dynamic",
            "xoff": "400000000",
        }
    }
    for profile in tables["BUFFER_PROFILE"].values():
        profile["pool"] = "ingress_lossless_pool"
    tables["BUFFER_PROFILE"]["egress_lossy_profile"] |= {"size": "0", "dynamic_th": "-6"}
    tables["BUFFER_PROFILE"]["ingress_lossy_profile"] |= {"size": "1280", "dynamic_th": "0"}
    scenario, account = imported(tmp_path, tables)
    switch = scenario["switch"]
    assert (switch["alpha"], switch["reserved"], switch["mmu"]["lossy_ingress_alpha"]) == (
        0.015625,
        "0B",
        1,
    )
    assert (switch["buffer"], switch["mmu"]["headroom_pool"]) == ("5400000000B", "400000000B")
    assert switch["mmu"]["group"] == [{"priorities": [0, 1, 2, 5, 6, 7], "reserved": "213B"}]
    assert said(account, "share the priority group 0", "equal part of its reserve")


def other_queues() -> Config:
    """Returns a configuration in which queues 6 and 7 have another profile than the other lossy
    queues."""
    tables = base()
    for port in PORTS:
        tables["BUFFER_QUEUE"][f"{port}|6-7"] = {"profile": "other_profile"}
        tables["BUFFER_QUEUE"][f"{port}|5"] = tables["BUFFER_QUEUE"].pop(f"{port}|5-7")
    return tables


def test_queues_with_other_profiles_have_their_own_alpha_reserve_and_limit(tmp_path):
    tables = other_queues()
    switch = imported(tmp_path, tables)[0]["switch"]
    assert (switch["alpha"], switch["reserved"]) == (0.5, "1664B")
    own = {
        queue["index"]: (queue.get("alpha"), queue.get("reserved"), queue.get("buffer"))
        for queue in switch["queue"]
    }
    assert own == {
        **dict.fromkeys(range(6), (None, None, None)),
        **dict.fromkeys((6, 7), (2, "0B", None)),
    }
    # A fixed limit is applied in addition to alpha, which is then the largest value that SONiC
    # supports.
    tables["BUFFER_PROFILE"]["other_profile"] = {
        "pool": "egress_lossy_pool",
        "size": "1664",
        "static_th": "90000",
    }
    queue = imported(tmp_path, tables)[0]["switch"]["queue"][6]
    assert (queue["alpha"], queue.get("reserved"), queue["buffer"]) == (256, None, "90000B")
    # Without queues the values cannot be applied.
    for table in ("QUEUE", "TC_TO_QUEUE_MAP"):
        del tables[table]
    assert said(
        imported(tmp_path, tables)[1], "other_profile", "static_th = 90000", "needs the queues"
    )


def test_ports_that_differ_in_the_profile_of_a_queue_are_said(tmp_path):
    tables = other_queues()
    tables["BUFFER_QUEUE"]["Ethernet4|6-7"] = {"profile": "egress_lossy_profile"}
    scenario, account = imported(tmp_path, tables)
    assert not any("alpha" in queue for queue in scenario["switch"]["queue"])
    assert said(account, "BUFFER_QUEUE", "lossy queues 6", "other_profile", "dynamic_th 1")


def test_lossless_queues_are_not_among_the_lossy_ones(tmp_path):
    tables = base()
    tables["BUFFER_PROFILE"]["egress_lossless_profile"] = {
        "pool": "egress_lossless_pool",
        "size": "0",
        "dynamic_th": "7",
    }
    for port in PORTS:
        for queues in ("0-2", "5-7"):
            del tables["BUFFER_QUEUE"][f"{port}|{queues}"]
        tables["BUFFER_QUEUE"][f"{port}|0"] = {"profile": "egress_lossy_profile"}
    switch = imported(tmp_path, tables)[0]["switch"]
    assert (switch["alpha"], switch["reserved"]) == (0.5, "1664B")


def test_a_lossy_pool_larger_than_the_memory_is_limited_by_it(tmp_path):
    tables = base()
    tables["BUFFER_POOL"]["egress_lossy_pool"]["size"] = "90000000"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["mmu"]["lossy_pool"] == "64000000B"
    assert said(account, "lossy pool of 90000000 B is larger")


def test_a_headroom_pool_of_0_is_none(tmp_path):
    """Headroom is then reserved for each group."""
    tables = base()
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "0"
    assert "headroom_pool" not in imported(tmp_path, tables)[0]["switch"]["mmu"]


def test_pools_without_a_size_are_noted_as_the_memory_is_known(tmp_path):
    """The memory is the sum of the ingress pools that have a size, or the largest other pool."""
    tables = base()
    pools = tables["BUFFER_POOL"]
    del pools["ingress_lossless_pool"]["size"], pools["ingress_lossless_pool"]["xoff"]
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["buffer"] == "64000000B"
    assert said(account, "egress_lossless_pool: its size, 64000000 B, is taken for the whole")
    assert not said(account, "has no size")
    pools["ingress_other_pool"] = {"type": "ingress", "mode": "dynamic", "size": "30000000"}
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["buffer"] == "30000000B"
    assert said(account, "ingress_lossless_pool has no size", "[switch] buffer lacks it")
    del pools["ingress_other_pool"]
    for pool in pools.values():
        pool.pop("size", None)
    assert said(imported(tmp_path, tables)[1], "has no size", "buffer must be written")


def test_two_ingress_pools_are_added(tmp_path):
    tables = base()
    tables["BUFFER_POOL"]["ingress_lossy_pool"] = {
        "size": "1000000",
        "type": "ingress",
        "mode": "dynamic",
    }
    tables["BUFFER_PROFILE"]["ingress_lossy_profile"]["pool"] = "ingress_lossy_pool"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["buffer"] == "65000000B"
    assert said(account, "ingress_lossless_pool, ingress_lossy_pool", "sizes are added")


def test_headroom_that_sonic_computes(tmp_path):
    # Spectrum 1 has cells of 96 B, so 2 · 96 / 97 of the bytes. 100 Gbps, 40 m and 394 quanta of 64
    # B.
    by_hand = (
        -(
            -(
                1024
                + (9100 + 2 * 40 * 100_000 * 1e9 / 198e6 / 8192 + 0.8 * 1024 + 394 * 64)
                * (192 / 97)
            )
            // 1024
        )
        * 1024
    )
    assert xoff(100_000, 40, 9100, Pattern(1024, 100), 96) == by_hand
    scenario, account = imported(tmp_path, computed())
    switch = scenario["switch"]
    assert switch["mmu"]["lossless_alpha"] == 0.125
    assert switch["pfc"]["headroom"] == f"{int(by_hand)}B"
    assert (switch["mmu"]["xon"], switch["mmu"]["lossless_reserved"]) == ("19456B", "19456B")
    assert scenario["topology"]["rate"] == "100Gbps"
    assert said(
        account, "headroom computed", "lossless MTU 1024", "100 % of small packets", "cells of 96 B"
    )


def test_headroom_without_speed_or_cable(tmp_path):
    tables = computed()
    del tables["PORT"], tables["DEVICE_METADATA"]
    switch = imported(tmp_path, tables)[0]["switch"]
    assert switch["pfc"]["headroom"] == f"{xoff(25_000, 40, 9100, Pattern(1024, 100), 1)}B", (
        "the links of the scenario have a rate"
    )
    del tables["CABLE_LENGTH"]
    scenario, account = imported(tmp_path, tables)
    assert "headroom" not in scenario["switch"]["pfc"], "it follows from the links"
    assert said(
        account,
        "LOSSLESS_TRAFFIC_PATTERN: mtu = 1024, small_packet_percentage = 100",
        "no CABLE_LENGTH",
    )


def test_a_computed_profile_may_have_its_own_alpha(tmp_path):
    tables = computed()
    tables["BUFFER_PROFILE"]["mine"] = {
        "pool": "ingress_lossless_pool",
        "headroom_type": "dynamic",
        "dynamic_th": "2",
    }
    for port in PORTS:
        tables["BUFFER_PG"][f"{port}|3-4"]["profile"] = "mine"
    switch = imported(tmp_path, tables)[0]["switch"]
    assert switch["mmu"]["lossless_alpha"] == 4
    assert switch["pfc"]["headroom"].endswith("B")
